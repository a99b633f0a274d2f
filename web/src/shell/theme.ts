/** Light or dark: as the system says, or as the user chose. */

import { Signal } from "./signal";

export type ThemeChoice = "system" | "light" | "dark";

const KEPT = "tfport-theme";
const CHOICES: ThemeChoice[] = ["system", "light", "dark"];
const system = matchMedia("(prefers-color-scheme: dark)");

/** The choice of the user. */
export const themeChoice = new Signal<ThemeChoice>(stored());

/** Choose the next theme in turn. */
export function nextTheme(): void {
  themeChoice.value = CHOICES[(CHOICES.indexOf(themeChoice.value) + 1) % CHOICES.length] ?? "system";
}

/** Apply the theme to the page, now and after each change. */
export function followTheme(): void {
  themeChoice.watch((choice) => {
    store(choice);
    apply();
  });
  system.addEventListener("change", apply);
  apply();
}

function apply(): void {
  const choice = themeChoice.value;
  const dark = choice === "dark" || (choice === "system" && system.matches);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  dispatchEvent(new Event("tfport-theme"));
}

function stored(): ThemeChoice {
  try {
    return CHOICES.find((choice) => choice === localStorage.getItem(KEPT)) ?? "system";
  } catch {
    return "system"; // a page that is a file may not have storage
  }
}

function store(choice: ThemeChoice): void {
  try {
    localStorage.setItem(KEPT, choice);
  } catch {
    // the choice holds until the page is closed
  }
}
