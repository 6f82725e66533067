// Light, dark or as the system says; colours that canvases need are read from the style sheet, so there is one source.

const darkQuery = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = [];

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "dark" || (chosen !== "light" && darkQuery.matches);
}

// Asking the browser for a colour makes it bring all styles up to date, so each is asked for once a theme.
const inks = new Map();
function ink(name) {
  if (!inks.has(name)) inks.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return inks.get(name);
}

function themeChanged() {
  inks.clear();
  for (const listener of themeListeners) listener();
}

function headColour(index) {
  const colours = page.palette.heads[isDark() ? "dark" : "light"];
  return colours[index % colours.length];
}

function groupColour(index) {
  const colours = page.palette.groups[isDark() ? "dark" : "light"];
  return colours[index % colours.length];
}

function groupDash(index) {
  return page.palette.dashes[index % page.palette.dashes.length];
}

// The dashes of a line that is told by one number alone: with more lines than colours, no two have both the same.
function loneDash(index) {
  return groupDash(index + Math.floor(index / page.palette.groups.light.length));
}

function rgb(hex) {
  const number = parseInt(hex.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

// Black or white, whichever can be read on this colour: one of them always has a contrast of 4.5 or more.
function contrasting(colour) {
  const [r, g, b] = rgb(colour).map((c) => { const s = c / 255; return s <= 0.04045 ? s / 12.92 : ((s + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000000" : "#ffffff";
}

function remembered(key) {
  // Storage is refused on some pages opened from disk; then a choice lasts as long as the page.
  try { return localStorage.getItem(key); } catch { return null; }
}

function remember(key, value) {
  try { localStorage.setItem(key, value); } catch { /* see remembered */ }
}

function wireTheme() {
  const choice = document.getElementById("theme");
  const apply = (value) => {
    if (value === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = value;
    themeChanged();
  };
  const before = remembered("headwise-theme");
  choice.value = before === "light" || before === "dark" ? before : "auto";
  if (choice.value !== "auto") apply(choice.value);
  choice.addEventListener("change", () => { remember("headwise-theme", choice.value); apply(choice.value); });
  darkQuery.addEventListener("change", themeChanged);
}
