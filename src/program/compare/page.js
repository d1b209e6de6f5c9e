// Shows what a column's title says at once, marks the same rows in every plot, and lets the arrow keys walk along the columns.
(() => {
  "use strict";
  const tip = document.getElementById("tip");
  const hits = [...document.querySelectorAll(".hit")];
  for (const hit of hits) {
    const title = hit.querySelector("title");
    hit.dataset.says = title.textContent;
    title.remove();
  }
  let lit = [];
  const hide = () => {
    lit.forEach(hit => hit.classList.remove("lit"));
    lit = [];
    tip.hidden = true;
  };
  const show = hit => {
    hide();
    const rows = hit.dataset.bin;
    lit = rows === undefined ? [hit] : hits.filter(other => other.dataset.bin === rows);
    lit.forEach(other => other.classList.add("lit"));
    tip.textContent = hit.dataset.says;
    tip.hidden = false;
    const [at, box] = [hit.getBoundingClientRect(), tip.getBoundingClientRect()];
    const right = at.right + 10;
    tip.style.left = Math.max(4, right + box.width < innerWidth ? right : at.left - 10 - box.width) + "px";
    tip.style.top = Math.max(4, Math.min(at.top, innerHeight - box.height - 4)) + "px";
  };
  for (const hit of hits) {
    hit.addEventListener("pointerenter", () => show(hit));
    hit.addEventListener("pointerleave", hide);
  }
  for (const plot of document.querySelectorAll("svg")) {
    const own = [...plot.querySelectorAll(".hit")];
    let at = -1;
    plot.addEventListener("keydown", event => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.key === "Escape") hide();
      if (!step || own.length === 0) return;
      event.preventDefault();
      at = Math.min(own.length - 1, Math.max(0, at + step));
      show(own[at]);
    });
    plot.addEventListener("blur", hide);
  }
  addEventListener("scroll", hide, { passive: true });
})();
