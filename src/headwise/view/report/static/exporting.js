// Files for papers and talks: a panel as PNG at three times its size on screen, and the numbers behind it as CSV.

const PICTURE_SCALE = 3;

function save(name, blob) {
  const address = URL.createObjectURL(blob);
  const link = h("a", { href: address, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function fileName(parts, ending) {
  const words = parts.filter((part) => part !== "" && part !== null).join("-").toLowerCase().replace(/[^a-z0-9.]+/g, "-");
  return `${words.replace(/^[-.]+|[-.]+$/g, "").slice(0, 80) || "panel"}.${ending}`;
}

function csvCell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const text = typeof value === "number" ? String(Math.fround(value) === value && !Number.isInteger(value) ? shortest(value) : value) : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function shortest(single) {
  // The fewest digits that give this 32-bit float back: 0.1 rather than 0.10000000149011612.
  for (let digits = 6; digits < 10; digits++) {
    const text = single.toPrecision(digits);
    if (Math.fround(Number(text)) === single) return String(Number(text));
  }
  return String(single);
}

function saveTable(name, rows) {
  save(name, new Blob([rows.map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n"], { type: "text/csv" }));
}

function savePicture(name, canvas) {
  // Not toBlob, which waits for an idle moment: by then the browser may no longer see that a reader asked for this file.
  const text = atob(canvas.toDataURL("image/png").split(",")[1]);
  save(name, new Blob([Uint8Array.from(text, (letter) => letter.charCodeAt(0))], { type: "image/png" }));
}

// A canvas with a heading, on which `draw(context, width, height)` draws in the pixels of the screen.
function picture(heading, width, height, draw) {
  const top = 30;
  const canvas = document.createElement("canvas");
  canvas.width = width * PICTURE_SCALE;
  canvas.height = (height + top) * PICTURE_SCALE;
  const context = canvas.getContext("2d");
  context.scale(PICTURE_SCALE, PICTURE_SCALE);
  context.fillStyle = ink("card");
  context.fillRect(0, 0, width, height + top);
  context.fillStyle = ink("text");
  context.font = `600 14px ${FONT}`;
  context.textBaseline = "middle";
  context.fillText(heading, 10, top / 2 + 2, width - 20);
  context.translate(0, top);
  draw(context, width, height);
  return canvas;
}

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif";
