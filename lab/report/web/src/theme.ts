// Colours. Subjects differ in colour and in dashes, for readers with colour blindness and
// for printers without colour. The hues are Okabe and Ito's, darkened on paper and
// lightened on black for a contrast of 3:1. Red is reserved for the limit.

import type { Subject } from "./view";

export interface Theme {
  dark: boolean;
  ink: string;
  soft: string;
  rule: string;
  paper: string;
  accent: string;
  hues: string[];
  heat: string[];
}

const light: Theme = {
  dark: false,
  ink: "#1c1b19",
  soft: "#6b675f",
  rule: "#e3dfd6",
  paper: "#fdfcf9",
  accent: "#b3122a",
  hues: ["#0072b2", "#c05a12", "#00805f", "#8a4ba0", "#8a6a00", "#2b8fb3", "#b0457f", "#4b4b9b"],
  heat: ["#e0dfcd", "#c3d5c0", "#8fbfb8", "#4f98ab", "#2b6a93", "#23406f", "#1b1b40"],
};

const dark: Theme = {
  dark: true,
  ink: "#ebe7df",
  soft: "#a29c91",
  rule: "#35322d",
  paper: "#171614",
  accent: "#ff6b76",
  hues: ["#5fb0f0", "#ff9d57", "#3ecf9f", "#c99be6", "#e3bd3a", "#70d2ee", "#f29bc4", "#a3a3f5"],
  heat: ["#30343f", "#2b3f66", "#2d5f83", "#3f8a92", "#74b48a", "#c2d77f", "#fdf6b2"],
};

const query = matchMedia("(prefers-color-scheme: dark)");
const key = "redline-theme";

/** Returns the current theme. */
export function current(): Theme {
  const forced = document.documentElement.dataset.theme;
  return (forced ? forced === "dark" : query.matches) ? dark : light;
}

/** Connects the toggle, and calls changed after every change of the theme. */
export function watch(button: HTMLButtonElement, changed: () => void): void {
  const stored = remembered();
  if (stored) document.documentElement.dataset.theme = stored;
  const label = () => {
    button.textContent = current().dark ? "Light" : "Dark";
    button.setAttribute("aria-label", `Use the ${current().dark ? "light" : "dark"} theme`);
  };
  button.addEventListener("click", () => {
    const next = current().dark ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    remember(next);
    label();
    changed();
  });
  query.addEventListener("change", () => {
    label();
    changed();
  });
  button.hidden = false;
  label();
}

// Browsers may deny storage to a page that was opened from a file. The choice is then
// lost with the page.
function remembered(): string | null {
  try {
    const value = localStorage.getItem(key);
    return value === "dark" || value === "light" ? value : null;
  } catch {
    return null;
  }
}

function remember(value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch {
    return;
  }
}

export interface Look {
  color: string;
  dash: "solid" | "dashed" | "dotted" | number[];
  width: number;
}

/** An entry of a legend, which a chart draws. */
export interface Entry {
  id: number;
  name: string;
  look(theme: Theme): Look;
}

/** Returns a subject as an entry. */
export function entryOf(subjects: Subject[], index: number): Entry {
  return { id: index, name: subjects[index]!.name, look: (theme) => look(subjects, index, theme) };
}

/** Returns a subject's style: those under test in colour, the others in grey. */
export function look(subjects: Subject[], index: number, theme: Theme): Look {
  const role = subjects[index]?.role;
  if (role === "baseline") return { color: theme.ink, dash: "solid", width: 2 };
  if (role === "twin") return { color: theme.soft, dash: "dotted", width: 1.5 };
  if (role === "floor") return { color: theme.soft, dash: [8, 4], width: 1.5 };
  const place = subjects.slice(0, index).filter((s) => !["baseline", "twin", "floor"].includes(s.role)).length;
  const dashes: Look["dash"][] = ["solid", [6, 3], [2, 2], [8, 2, 2, 2]];
  const n = theme.hues.length;
  return {
    color: theme.hues[place % n]!,
    dash: dashes[(Math.floor(place / n) + (place % 3)) % dashes.length]!,
    width: 1.75,
  };
}
