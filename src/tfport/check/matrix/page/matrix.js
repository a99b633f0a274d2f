"use strict";
// Without this script all tables are shown one below the other, and a bar links to its card below them.
const form = document.querySelector(".switches");
const tip = document.querySelector(".tip");
const strips = [...document.querySelectorAll(".strip")];
let pinned = null;

function choose() {
  const chosen = new FormData(form);
  const setting = ["device", "loader", "signature"].map((name) => chosen.get(name)).join(" ");
  for (const strip of strips) strip.hidden = !strip.dataset.settings.split("|").includes(setting);
  hide();
}

function show(bar) {
  const card = document.querySelector(bar.getAttribute("href")).cloneNode(true);
  card.removeAttribute("id");
  tip.replaceChildren(card);
  tip.hidden = false;
  tip.scrollTop = 0;
  const at = bar.getBoundingClientRect(), size = tip.getBoundingClientRect();
  const left = Math.min(Math.max(12, at.left), innerWidth - size.width - 12);
  const below = at.bottom + 8 + size.height < innerHeight || at.top < size.height;
  tip.style.left = left + "px";
  tip.style.top = Math.max(8, below ? at.bottom + 8 : at.top - 8 - size.height) + "px";
}

function hide() {
  if (pinned) pinned.classList.remove("shown");
  pinned = null;
  tip.hidden = true;
}

for (const bar of document.querySelectorAll("td > a")) {
  bar.setAttribute("role", "button");
  bar.addEventListener("mouseenter", () => { if (!pinned) show(bar); });
  bar.addEventListener("mouseleave", () => { if (!pinned) hide(); });
  bar.addEventListener("focus", () => { if (bar !== pinned) { hide(); show(bar); } });
  bar.addEventListener("blur", (event) => { if (!tip.contains(event.relatedTarget)) hide(); });
  bar.addEventListener("keydown", (event) => { if (event.key === " ") { event.preventDefault(); bar.click(); } });
  bar.addEventListener("click", (event) => {
    event.preventDefault();
    const again = bar === pinned;
    hide();
    if (again) return;
    show(bar);
    pinned = bar;
    bar.classList.add("shown");
  });
}
tip.addEventListener("mousedown", (event) => event.preventDefault());
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
addEventListener("scroll", () => { if (!pinned) hide(); }, { passive: true });
form.addEventListener("change", choose);
form.hidden = form.elements.length === 0;
choose();
