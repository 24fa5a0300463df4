// Light or dark: as the system has it, until the reader says otherwise.

const key = "redline-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

/** Connects the button. */
export function theme(button: HTMLButtonElement): void {
  const root = document.documentElement;
  try {
    root.dataset.theme = localStorage.getItem(key) ?? "";
  } catch {
    // storage is forbidden: the choice lasts as long as the page
  }
  const other = () => ((root.dataset.theme ? root.dataset.theme === "dark" : dark.matches) ? "light" : "dark");
  const label = () => {
    button.textContent = other() === "dark" ? "Dark" : "Light";
    button.setAttribute("aria-label", `Use the ${other()} theme`);
  };
  button.addEventListener("click", () => {
    root.dataset.theme = other();
    label();
    try {
      localStorage.setItem(key, root.dataset.theme);
    } catch {
      // as above
    }
  });
  dark.addEventListener("change", label);
  label();
}
