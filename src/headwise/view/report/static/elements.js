// Elements from plain values. Text only ever becomes a text node: nothing on this page is parsed as HTML.

function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties || {})) {
    if (key === "class") element.className = value;
    else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

function lineSample(colour, dash) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  for (const [k, v] of Object.entries({ width: 26, height: 10, viewBox: "0 0 26 10", "aria-hidden": "true" })) svg.setAttribute(k, v);
  for (const [k, v] of Object.entries({ x1: 0, x2: 26, y1: 5, y2: 5, stroke: colour, "stroke-width": 2.5, "stroke-dasharray": dash.join(" ") })) line.setAttribute(k, v);
  svg.append(line);
  return svg;
}

function swatch(colour, text) {
  const dot = h("span", { class: "swatch", "aria-hidden": "true" }, text || "");
  const [r, g, b] = rgb(colour);
  dot.style.background = colour;
  dot.style.color = 0.299 * r + 0.587 * g + 0.114 * b > 140 ? "#000" : "#fff";
  return dot;
}

function shown(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  if (size !== 0 && (size < 0.001 || size >= 100000)) return value.toExponential(1).replace("-", "−");
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3).replace("-", "−");
}

function shownTime(value) {
  const rounded = Math.abs(value) >= 100 || Number.isInteger(value) ? Math.round(value) : Number(value.toPrecision(3));
  return String(rounded);
}

function nearestIndex(sorted, value) {
  if (!sorted.length) return -1;
  let low = 0, high = sorted.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= value) low = middle; else high = middle;
  }
  return value - sorted[low] <= sorted[high] - value ? low : high;
}

function interpolate(x, xs, ys) {
  if (x <= xs[0]) return ys[0];
  for (let i = 1; i < xs.length; i++) {
    if (x <= xs[i]) return xs[i] === xs[i - 1] ? ys[i] : ys[i - 1] + ((x - xs[i - 1]) / (xs[i] - xs[i - 1])) * (ys[i] - ys[i - 1]);
  }
  return ys[ys.length - 1];
}

function patternName(label) {
  if (typeof label === "number") return `I(${label})`;
  return /^-?\d+$/.test(label) ? `lag ${label}` : `lags ${label}`;
}
