// The page's data, and the one version of it that this script can draw (SCHEMA in html.py).

const SCHEMA = 2;
const page = JSON.parse(document.getElementById("data").textContent);

// Whether the data can be drawn; if not, the page says so in one line.
function knowsData() {
  if (page.schema === SCHEMA) return true;
  const text = `This page holds data of schema ${page.schema ?? "unknown"}, and its script draws schema ${SCHEMA} alone: write the page again.`;
  const place = document.getElementById("waiting") || document.getElementById("content").insertAdjacentElement("afterbegin", document.createElement("p"));
  place.className = "notice";
  place.setAttribute("role", "alert");
  place.textContent = text;
  return false;
}
