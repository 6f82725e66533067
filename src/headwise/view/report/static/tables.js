// Verdict tables: sort by a column, search, show by verdict, open a row for its figure and numbers, take the CSV.

function compare(a, b) {
  const [x, y] = [Number(a), Number(b)];
  if (a === "" || b === "") return a === b ? 0 : a === "" ? 1 : -1;
  return Number.isNaN(x) || Number.isNaN(y) ? a.localeCompare(b, undefined, { numeric: true }) : x - y;
}

function wireTable(section) {
  const table = section.querySelector("table");
  const bodies = [...table.tBodies];
  const given = new Map(bodies.map((body, n) => [body, n]));
  const search = section.querySelector(".search");
  const filters = [...section.querySelectorAll(".filter")];
  const showing = section.querySelector(".showing");

  const filter = () => {
    const words = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
    const off = new Set(filters.filter((button) => button.getAttribute("aria-pressed") === "false").map((button) => button.dataset.verdict));
    let count = 0;
    for (const body of bodies) {
      const text = body.textContent.toLowerCase();
      body.hidden = off.has(body.dataset.verdict) || !words.every((word) => text.includes(word));
      count += body.hidden ? 0 : 1;
    }
    showing.textContent = count === bodies.length ? "" : `${count} of ${bodies.length} rows`;
  };
  search.addEventListener("input", filter);
  for (const button of filters) {
    button.addEventListener("click", () => { button.setAttribute("aria-pressed", String(button.getAttribute("aria-pressed") === "false")); filter(); });
  }

  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const next = now === "none" ? "ascending" : now === "ascending" ? "descending" : "none";
    for (const other of heads) if (other.hasAttribute("aria-sort")) other.setAttribute("aria-sort", other === head ? next : "none");
    const key = (body) => body.rows[0].cells[column].dataset.sort;
    const sorted = [...bodies].sort((a, b) => (next === "none" ? 0 : (next === "ascending" ? 1 : -1) * compare(key(a), key(b))) || given.get(a) - given.get(b));
    table.append(...sorted);
  }));

  for (const body of bodies) {
    const button = body.querySelector(".open"), detail = body.querySelector(".detail");
    button.addEventListener("click", () => {
      detail.hidden = !detail.hidden;
      button.setAttribute("aria-expanded", String(!detail.hidden));
      for (const figure of detail.querySelectorAll("figure:empty")) {
        const name = figure.dataset.figure, address = page.figures[name];
        const kind = address.startsWith("data:image/svg") ? "svg" : address.startsWith("data:image/png") ? "png" : "jpg";
        figure.append(h("img", { src: address, alt: `Figure ${name}` }), h("figcaption", {}, name,
          h("a", { href: address, download: fileName([name.replace(/\.\w+$/, "")], kind), class: "download" }, `Download ${kind.toUpperCase()}`)));
      }
    });
  }
  section.querySelector(".csv").addEventListener("click", () => saveTable(`${section.dataset.table}.csv`, page.tables[section.dataset.table]));
}

wireTheme();
if (knowsData()) for (const section of document.querySelectorAll("[data-table]")) wireTable(section);
window.headwise = { ready: true };
