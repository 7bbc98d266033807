"use strict";
// Narrows the list of cases to those that contain all the words typed, and
// optionally to those that are new. The report is complete without it.
(() => {
  const tools = document.querySelector(".tools");
  if (!tools) return;
  const query = tools.querySelector("input[type=search]");
  const fresh = tools.querySelector("input[type=checkbox]");
  const found = tools.querySelector("output");
  const cases = [...document.querySelectorAll(".case")].map((card) => ({ card, text: card.textContent.toLowerCase() }));
  const groups = [...document.querySelectorAll(".cases")];
  const narrow = () => {
    const words = query.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const { card, text } of cases) {
      const fits = words.every((word) => text.includes(word)) && (!fresh.checked || card.dataset.new === "yes");
      card.hidden = !fits;
      if (fits) shown++;
    }
    for (const group of groups) group.hidden = !group.querySelector(".case:not([hidden])");
    found.textContent = words.length || fresh.checked ? `${shown} of ${cases.length} shown` : "";
  };
  query.addEventListener("input", narrow);
  fresh.addEventListener("change", narrow);
  tools.hidden = false;
})();
