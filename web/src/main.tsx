// Where the page begins.

import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { App } from "./app";
import { keepOutbox, restWhileHidden } from "./state/load";
import "./style.css";
import { startSignals } from "./ui/signals";
import { startTheme } from "./ui/theme";

startTheme();
startSignals();
restWhileHidden();
keepOutbox();
const root = document.getElementById("root");
if (root)
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
