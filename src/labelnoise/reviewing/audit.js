"use strict";
(() => {
  // Every text of the data enters the page as text, never as markup.
  const data = JSON.parse(document.getElementById("data").textContent);
  const at = (id) => document.getElementById(id);
  const KEY = `labelnoise-audit:${data.audit}`;
  const MOST_OPTIONS = 1000, MOST_CLASSES = 200, SMALL = 64;
  const byId = new Map(data.rows.map((row) => [row.id, row]));
  const cards = new Map(); // id -> card
  let decisions = new Map(); // id -> {decision, corrected}
  let past = []; // [id, what was decided before], the latest last
  let visible = []; // ids in the order shown
  let current = null; // id
  let kept = true; // whether this browser keeps decisions

  // What is kept between visits

  function load() {
    try {
      const found = JSON.parse(localStorage.getItem(KEY) || "{}");
      decisions = new Map((found.decisions || []).filter(([id]) => byId.has(id)));
      past = (found.past || []).filter(([id]) => byId.has(id));
    } catch {
      kept = false;
    }
  }

  function save() {
    try {
      localStorage.setItem(KEY, JSON.stringify({ decisions: [...decisions], past }));
    } catch {
      kept = false;
    }
  }

  // Elements

  function element(tag, className, ...content) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    made.append(...content); // texts become text nodes
    return made;
  }

  function button(text, act) {
    const made = element("button", "", text);
    made.type = "button";
    made.tabIndex = -1; // until its card is the current one
    made.addEventListener("click", act);
    return made;
  }

  function pictured(row) {
    const image = element("img");
    image.decoding = "async";
    image.alt = `row ${row.id}`;
    image.addEventListener("load", () => image.classList.toggle("large", image.naturalWidth > SMALL));
    image.src = row.image;
    return image;
  }

  function tabled(cells) {
    const body = element("tbody");
    for (const [name, text] of cells) {
      const head = element("th", "", name);
      head.scope = "row";
      body.append(element("tr", "", head, element("td", "", text)));
    }
    return element("div", "cells", element("table", "", body));
  }

  function content(row) {
    if (row.image) return pictured(row);
    return row.cells ? tabled(row.cells) : element("p", "soft", row.hidden || "");
  }

  function percent(share) {
    return share < 0.01 ? "under 1" : String(Math.round(100 * share));
  }

  function card(row) {
    const share = element("b");
    share.style.width = `${100 * row.wrong}%`;
    const labels = element("p", "labels", "given ", element("bdi", "", row.given), " · suggested ", element("bdi", "", row.suggested));
    const made = element("article", "card",
      content(row),
      labels,
      element("div", "wrong", element("i", "", share), `${percent(row.wrong)} % wrong`),
      element("p", "reason", row.reason),
      element("p", "id", "row ", element("bdi", "", row.id)),
      element("p", "decided"),
      element("div", "choices",
        button("Accept", () => decide(row.id, "accept", row.suggested)),
        button("Reject", () => decide(row.id, "reject", row.given)),
        button("Other…", () => choose(row.id))));
    made.tabIndex = -1;
    made.setAttribute("aria-label", `Row ${row.id}: given ${row.given}, suggested ${row.suggested}`);
    made.addEventListener("focusin", () => mark(row.id));
    return made;
  }

  function show(id) {
    const made = cards.get(id), found = decisions.get(id);
    const [accept, reject, other] = made.querySelectorAll(".choices button");
    for (const [name, each] of Object.entries({ accept, reject, other })) {
      each.setAttribute("aria-pressed", String(Boolean(found) && found.decision === name));
    }
    const line = made.querySelector(".decided");
    line.replaceChildren();
    if (!found) {
      delete made.dataset.decision;
      return;
    }
    made.dataset.decision = found.decision;
    line.append(found.decision === "reject" ? "stays " : "becomes ", element("bdi", "", found.corrected));
  }

  // Which rows are shown

  function fits(row) {
    const found = decisions.get(row.id), wanted = at("decided").value;
    if (at("given").value && `=${row.given}` !== at("given").value) return false;
    if (at("suggested").value && `=${row.suggested}` !== at("suggested").value) return false;
    if (at("reason").value && !row.kinds.some((kind) => `=${kind}` === at("reason").value)) return false;
    if (100 * row.wrong < Number(at("least").value)) return false;
    if (wanted && wanted !== (wanted.length > 3 ? (found || {}).decision : found ? "yes" : "no")) return false;
    const text = at("text").value.trim().toLowerCase();
    return !text || row.searched.includes(text);
  }

  function compare(one, two) {
    const sign = at("order").value === "up" ? -1 : 1;
    const classes = at("order").value === "given" ? data.classes.indexOf(one.given) - data.classes.indexOf(two.given) : 0;
    return classes || sign * (two.wrong - one.wrong);
  }

  function refresh() {
    const before = visible.indexOf(current);
    const rows = data.rows.filter(fits).sort(compare);
    visible = rows.map((row) => row.id);
    at("gallery").replaceChildren(...visible.map((id) => cards.get(id).parentElement));
    if (!visible.includes(current)) mark(visible[Math.min(Math.max(before, 0), visible.length - 1)] ?? null);
    count();
  }

  function count() {
    const all = data.rows.length, done = decisions.size;
    const wrong = [...decisions.values()].filter((each) => each.decision !== "reject").length;
    at("progress").textContent = `${done} of ${all} decided, ${wrong} wrong · ${visible.length} shown`;
    if (!kept) at("progress").textContent += " · not kept by this browser: export them before you leave";
    at("meter").setAttribute("aria-valuemax", String(all));
    at("meter").setAttribute("aria-valuenow", String(done));
    at("meter").firstElementChild.style.width = `${all ? (100 * done) / all : 0}%`;
    at("undo").disabled = past.length === 0;
    at("export").disabled = done === 0;
  }

  function mark(id) {
    if (current !== null) reach(cards.get(current), -1);
    current = id;
    if (id !== null) reach(cards.get(id), 0);
  }

  function reach(made, index) {
    for (const each of [made, ...made.querySelectorAll("button")]) each.tabIndex = index;
  }

  function go(id) {
    if (id === undefined || id === null) return;
    mark(id);
    cards.get(id).focus({ preventScroll: true });
    cards.get(id).scrollIntoView({ block: "nearest" });
  }

  function step(by) {
    const inGallery = document.activeElement.closest && document.activeElement.closest(".card");
    const place = visible.indexOf(current);
    go(inGallery || by < 0 ? visible[Math.min(Math.max(place + by, 0), visible.length - 1)] : current);
  }

  // Decisions

  function decide(id, decision, corrected) {
    const row = byId.get(id);
    if (decision === "accept" && corrected === row.given) decision = "reject";
    past.push([id, decisions.get(id) || null]);
    decisions.set(id, { decision, corrected });
    const place = visible.indexOf(id), next = visible[place + 1] ?? id;
    settle(id);
    say(decision === "reject" ? `Row ${id} stays ${corrected}.` : `Row ${id} becomes ${corrected}.`);
    go(visible.includes(next) ? next : current);
  }

  function undo() {
    if (!past.length) return;
    const [id, before] = past.pop();
    if (before) decisions.set(id, before);
    else decisions.delete(id);
    settle(id);
    say(`The decision about row ${id} is undone.`);
    if (visible.includes(id)) go(id);
  }

  function settle(id) {
    show(id);
    save();
    if (fits(byId.get(id)) === visible.includes(id)) count();
    else if (visible.includes(id)) leave(id);
    else refresh();
  }

  function leave(id) {
    const place = visible.indexOf(id);
    visible.splice(place, 1);
    cards.get(id).parentElement.remove();
    if (current === id) mark(visible[Math.min(place, visible.length - 1)] ?? null);
    count();
  }

  function say(sentence) {
    at("said").textContent = sentence;
  }

  // Another class

  function choose(id) {
    mark(id);
    at("wanted").value = "";
    list();
    at("chooser").showModal();
    at("wanted").focus();
  }

  function list() {
    const text = at("wanted").value.trim().toLowerCase(), own = byId.get(current).given;
    const found = data.classes.filter((name) => name !== own && name.toLowerCase().includes(text));
    found.sort((one, two) => (two.toLowerCase() === text) - (one.toLowerCase() === text));
    at("classes").replaceChildren(...found.slice(0, MOST_CLASSES).map((name) => {
      const made = button(name, () => take(name));
      made.tabIndex = 0;
      return made;
    }));
  }

  function take(name) {
    at("chooser").close();
    decide(current, name === byId.get(current).suggested ? "accept" : "other", name);
  }

  // Corrections as a file

  function guarded(text) {
    return /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text; // a spreadsheet would run it
  }

  function cell(text) {
    return `"${guarded(text).replaceAll('"', '""')}"`;
  }

  function corrections() {
    const lines = [["id", "given", "corrected", "decision", "lines", "audit"].join(",")];
    const count = String(decisions.size); // in every line, so that a file that is cut off is known
    for (const row of data.rows) {
      const found = decisions.get(row.id);
      if (found) lines.push([row.id, row.given, found.corrected, found.decision, count, data.audit].map(cell).join(","));
    }
    return `\ufeff${lines.join("\r\n")}\r\n`;
  }

  function exported() {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([corrections()], { type: "text/csv" }));
    link.download = "corrections.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
    say(`${decisions.size} decisions exported as corrections.csv.`);
  }

  // Start

  function options(id, names) {
    const all = element("option", "", "all");
    all.value = "";
    at(id).replaceChildren(all, ...names.slice(0, MOST_OPTIONS).map((name) => {
      const made = element("option", "", name);
      made.value = `=${name}`; // so that no name is that of "all"
      return made;
    }));
  }

  const ACTS = {
    j: () => step(1),
    k: () => step(-1),
    a: () => current !== null && decide(current, "accept", byId.get(current).suggested),
    r: () => current !== null && decide(current, "reject", byId.get(current).given),
    o: () => current !== null && choose(current),
    u: undo,
  };
  const MOVES = ["j", "k", "u"];
  const ARROWS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || at("chooser").open) return;
    if (event.target.closest("input, select")) {
      if (event.key === "Escape" || (event.key === "Enter" && event.target.matches("input"))) go(current);
      return;
    }
    const onCard = event.target.closest(".card") !== null;
    const act = ARROWS[event.key] && onCard ? () => step(ARROWS[event.key]) : ACTS[event.key];
    if (!act) return;
    event.preventDefault();
    if (onCard || MOVES.includes(event.key)) act();
    else go(current); // nothing is decided about a row that nobody has come to
  }

  for (const row of data.rows) {
    const cells = (row.cells || []).map(([, text]) => text);
    row.searched = [row.id, row.given, row.suggested, row.reason, ...cells].join("\n").toLowerCase();
    cards.set(row.id, card(row));
    element("li", "", cards.get(row.id));
  }
  load();
  options("given", data.classes.filter((name) => data.rows.some((row) => row.given === name)));
  options("suggested", data.classes.filter((name) => data.rows.some((row) => row.suggested === name)));
  options("reason", [...new Set(data.rows.flatMap((row) => row.kinds))].sort());
  for (const id of cards.keys()) show(id);
  for (const id of ["given", "suggested", "reason", "decided", "least", "text", "order"]) at(id).addEventListener("input", refresh);
  at("undo").addEventListener("click", undo);
  at("export").addEventListener("click", exported);
  at("wanted").addEventListener("input", list);
  at("wanted").addEventListener("keydown", (event) => {
    const first = at("classes").firstElementChild;
    if (event.key === "Enter" && first) {
      event.preventDefault();
      first.click();
    }
  });
  document.addEventListener("keydown", pressed);
  refresh();
})();
