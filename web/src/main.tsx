/** The page: one bundle, for the server's page and for pages that are files. */

import { render } from "preact";
import { App } from "./shell/app";
import { followTheme } from "./shell/theme";
import "./theme.css";
import "./components/components.css";
import "./shell/shell.css";
import "./views/views.css";

followTheme();
const root = document.getElementById("app") ?? document.body.appendChild(document.createElement("div"));
render(<App />, root);
