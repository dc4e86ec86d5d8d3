"use strict";
// Draws the figures from the JSON beside them. The page is complete without this: every figure has its table.
(() => {
  const root = document.documentElement;

  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const armColour = (role) => css(`--arm-${role || "baseline"}`) || css("--soft");
  const parse = (id) => JSON.parse(document.getElementById(id).textContent);

  async function unpack() {
    const packed = Uint8Array.from(atob(document.getElementById("plotly").textContent), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
    const script = document.createElement("script");
    script.textContent = await new Response(stream).text();
    document.head.append(script);
  }

  function theme() {
    const ink = css("--ink"), soft = css("--soft"), line = css("--line");
    const axis = { gridcolor: line, linecolor: line, zerolinecolor: line, tickfont: { color: soft, size: 11 }, automargin: true,
      title: { font: { color: soft, size: 12 }, standoff: 6 } };
    return {
      axis,
      layout: {
        paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", autosize: true,
        font: { family: css("--sans"), color: ink, size: 12 },
        hoverlabel: { bgcolor: css("--card"), bordercolor: css("--strong-line"), font: { color: ink } },
        // A finger that scrolls the page must not end up zooming a plot.
        dragmode: matchMedia("(hover: hover)").matches ? "zoom" : false,
      },
    };
  }
  const CONFIG = { displaylogo: false, responsive: true, modeBarButtons: [["toImage", "resetScale2d"]],
    displayModeBar: matchMedia("(hover: hover)").matches ? "hover" : false };

  function select(box, name, options, chosen, changed) {
    if (options.length < 2) return;
    const label = document.createElement("label");
    const element = document.createElement("select");
    label.append(name, element);
    options.forEach((text, index) => element.append(new Option(text || "all", String(index), false, index === chosen)));
    element.addEventListener("change", () => changed(Number(element.value)));
    box.append(label);
  }

  // --- timeline: one panel an arm, rate over delay ---
  const LINES = [
    { key: "sent", name: "sent", colour: () => css("--soft"), width: 1.2, dash: "dot" },
    { key: "ok", name: "acknowledged", colour: (role) => armColour(role), width: 1.8, dash: "solid" },
    { key: "consumed", name: "consumed", colour: () => css("--ink"), width: 1.6, dash: "dash" },
    { key: "failed", name: "failed", colour: () => css("--failed"), width: 1.4, dash: "solid", fill: "tozeroy" },
  ];

  function timeline(plot, controls, data) {
    const releases = [...new Set(data.views.map((view) => view.release))];
    let current = data.views[data.first];
    const show = () => {
      const all_panels = current.panels.map((index) => data.panels[index]);
      const asked = all_panels.filter((panel) => !plot.dataset.arms || plot.dataset.arms.split(" ").includes(panel.arm));
      const panels = asked.length ? asked : all_panels;
      if (panels.length < all_panels.length && !controls.querySelector("button")) {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = `all ${all_panels.length} arms`;
        button.addEventListener("click", () => { delete plot.dataset.arms; button.remove(); show(); });
        controls.append(button);
      }
      plot.replaceChildren(legend(panels));
      const all = (keys) => panels.flatMap((panel) => keys.flatMap((key) => panel[key] || [])).filter((value) => value !== null);
      const rateMax = Math.max(1, ...all(["sent", "ok", "failed", "consumed"]));
      const delays = all(["p50", "max"]).filter((value) => value > 0);
      const delayRange = delays.length
        ? [Math.log10(Math.min(...delays)) - 0.25, Math.log10(Math.max(...delays)) + 0.25] : [0, 1];
      return Promise.all(panels.map((panel) => {
        const box = document.createElement("div");
        box.className = "panel";
        const heading = document.createElement("p");
        const arm = document.createElement("b");
        arm.textContent = panel.arm;
        box.style.setProperty("--arm", `var(--arm-${panel.role || "baseline"})`);
        const note = document.createElement("small");
        note.textContent = note.title = `trial ${panel.trial}`;
        heading.append(arm, note);
        const target = document.createElement("div");
        box.append(heading, target);
        plot.append(box);
        return drawPanel(target, panel, rateMax, delayRange);
      }));
    };
    const choose = (release, cell) => {
      const of = data.views.filter((view) => view.release === release);
      current = of.find((view) => view.cell === cell) || of[0];
      build();
      return show();
    };
    const build = () => {
      controls.replaceChildren();
      const cells = data.views.filter((view) => view.release === current.release).map((view) => view.cell);
      select(controls, "Release", releases, releases.indexOf(current.release), (i) => choose(releases[i], current.cell));
      select(controls, "Cell", cells, cells.indexOf(current.cell), (i) => choose(current.release, cells[i]));
    };
    build();
    return show;
  }

  // One legend for all panels: the colour of an arm stands in its heading, the kind of line here.
  const SAMPLES = {
    sent: '<path d="M0 6H26" stroke-dasharray="2 3"/>', acknowledged: '<path d="M0 6H26" stroke-width="2.5"/>',
    consumed: '<path d="M0 6H26" stroke-dasharray="7 4"/>', failed: '<path d="M0 2H26" stroke="var(--failed)"/><path d="M0 2H26V12H0Z" fill="var(--failed)" fill-opacity=".3" stroke="none"/>',
    "delay max": '<circle cx="13" cy="6" r="3" fill="currentColor" stroke="none"/>', "delay p50": '<path d="M8 6H18" stroke-width="2"/>',
    "time of the fault": '<path d="M0 0H26V12H0Z" fill="var(--fault)" stroke="none"/><path d="M0 0V12" stroke-dasharray="3 2"/>',
  };
  function legend(panels) {
    const names = LINES.filter((line) => panels.some((panel) => panel[line.key])).map((line) => line.name);
    const list = document.createElement("ul");
    list.className = "legend";
    [...names, "delay max", "delay p50", "time of the fault"].forEach((name) => {
      const item = document.createElement("li");
      item.innerHTML = `<svg viewBox="0 0 26 12" fill="none" stroke="currentColor" aria-hidden="true">${SAMPLES[name]}</svg>${name}`;
      list.append(item);
    });
    return list;
  }

  function drawPanel(target, panel, rateMax, delayRange) {
    const { axis, layout } = theme();
    const lines = LINES.filter((line) => panel[line.key]).map((line) => ({
      type: "scatter", mode: "lines", x: panel.t, y: panel[line.key], name: line.name, connectgaps: false,
      line: { color: line.colour(panel.role), width: line.width, dash: line.dash, shape: "hv" }, fill: line.fill || "none",
      hovertemplate: "%{y:.4~g}/s",
    }));
    const delays = [
      { key: "max", name: "delay max", colour: armColour(panel.role), symbol: "circle", size: 3.5 },
      { key: "p50", name: "delay p50", colour: css("--ink"), symbol: "line-ew", size: 5 },
    ].map((one) => ({
      type: "scatter", mode: "markers", x: panel.t, y: panel[one.key], name: one.name, yaxis: "y2",
      marker: { color: one.colour, size: one.size, symbol: one.symbol, line: { color: one.colour, width: 1.2 } },
      hovertemplate: "%{y:.4~g} ms",
    }));
    const shapes = [];
    const faults = panel.fault && panel.fault[0] !== null ? [panel.fault] : panel.faults || [];
    for (const [from, to] of faults) {
      shapes.push({ type: "rect", xref: "x", yref: "paper", x0: from, x1: to === null ? panel.t[panel.t.length - 1] : to, y0: 0, y1: 1,
        fillcolor: css("--fault"), line: { width: 0 }, layer: "below" });
      shapes.push({ type: "line", xref: "x", yref: "paper", x0: from, x1: from, y0: 0, y1: 1,
        line: { color: css("--ink"), width: 1, dash: "dash" } });
    }
    return Plotly.newPlot(target, [...lines, ...delays], {
      ...layout, height: 330, margin: { l: 48, r: 10, t: 8, b: 36 }, hovermode: "x unified", shapes, showlegend: false,
      xaxis: { ...axis, anchor: "y2", title: { ...axis.title, text: `seconds since ${panel.since}` } },
      yaxis: { ...axis, domain: [0.55, 1], range: [0, rateMax * 1.06], title: { ...axis.title, text: "per second" } },
      yaxis2: { ...axis, domain: [0, 0.47], type: "log", range: delayRange, dtick: 1, title: { ...axis.title, text: "delay when it ended, ms" } },
    }, CONFIG);
  }

  // --- strips: one row a cell and release, one mark a value ---
  const ROWS_AT_ONCE = 18;

  function strips(plot, controls, data) {
    const target = document.createElement("div");
    plot.append(target);
    const releases = () => [...new Set(data.strips[current].rows.map((row) => row.release))];
    // More rows than fit on a screen are shown release by release at first.
    const first = () => (data.strips[current].rows.length > ROWS_AT_ONCE && releases().length > 1 ? 1 : 0);
    let current = 0;
    let release = first();
    const build = () => {
      controls.replaceChildren();
      select(controls, "Measure", data.strips.map((strip) => strip.label), current, (i) => { current = i; release = first(); build(); show(); });
      select(controls, "Release", ["all", ...releases()], release, (i) => { release = i; show(); });
    };
    const show = () => {
      const strip = data.strips[current];
      const only = release === 0 ? null : releases()[release - 1];
      return drawStrip(target, strip.rows.filter((row) => only === null || row.release === only), strip.unit, strip.label);
    };
    build();
    return show;
  }

  // A fixed scatter within the row, the same at every look: multiples of the golden ratio fill it evenly.
  const spread = (index) => ((index * 0.61803398875) % 1 - 0.5) * 0.62;

  function drawStrip(target, rows, unit, label) {
    const { axis, layout } = theme();
    const narrow = target.clientWidth < 560;
    const traces = [], shapes = [], names = [];
    rows.forEach((row, index) => {
      const y = rows.length - 1 - index, colour = armColour(row.role);
      names.push([row.release, row.arm, row.cell].filter(Boolean).join(narrow ? "<br>" : " · "));
      const mark = (values, symbol, offset) => traces.push({
        type: "scatter", mode: "markers", x: values, y: values.map((_, i) => y + spread(i + offset)), showlegend: false,
        marker: { color: colour, size: symbol === "circle" ? 5 : 9, opacity: symbol === "circle" ? 0.55 : 1, symbol, line: { width: symbol === "circle" ? 0 : 1.4, color: colour } },
        hovertemplate: `${symbol === "circle" ? "" : "at least "}%{x:.4~g} ${unit}<extra>${row.arm}, ${row.release}</extra>`,
      });
      if (row.seen.length) mark(row.seen, "circle", 0);
      if (row.atleast.length) mark(row.atleast, "triangle-right-open", row.seen.length);
      if (row.p25 !== null && row.p75 !== null && row.n > 3) {
        shapes.push({ type: "rect", x0: row.p25, x1: row.p75, y0: y - 0.4, y1: y + 0.4, line: { color: colour, width: 1 }, layer: "below" });
      }
      if (row.p50 !== null) {
        shapes.push({ type: "line", x0: row.p50, x1: row.p50, y0: y - 0.42, y1: y + 0.42, line: { color: css("--ink"), width: 2.5 } });
      }
      const next = rows[index + 1];
      if (next && (next.cell !== row.cell || next.release !== row.release)) {
        shapes.push({ type: "line", xref: "paper", x0: 0, x1: 1, y0: y - 0.5, y1: y - 0.5, line: { color: css("--line"), width: 1 } });
      }
    });
    const height = 70 + rows.length * (narrow ? 52 : rows.length > 20 ? 26 : 36);
    target.style.height = `${height}px`;
    return Plotly.react(target, traces, {
      ...layout, margin: { l: 10, r: 14, t: 8, b: 40 }, shapes, hovermode: "closest",
      xaxis: { ...axis, rangemode: "tozero", title: { ...axis.title, text: `${label}${unit ? `, ${unit}` : ""}` } },
      yaxis: { ...axis, tickvals: rows.map((_, i) => rows.length - 1 - i), ticktext: names, range: [-0.6, rows.length - 0.4],
        showgrid: false, zeroline: false, tickfont: { ...axis.tickfont, color: css("--ink") } },
    }, CONFIG);
  }

  // --- stack: one bar an arm and release, its parts in the order of time ---
  function stack(plot, controls, data) {
    const target = document.createElement("div");
    plot.append(target);
    return () => {
      const { axis, layout } = theme();
      const bars = [...data.bars].reverse();
      const narrow = target.clientWidth < 560;
      const names = bars.map((bar) => (narrow ? bar.label.replaceAll(" · ", "<br>") : bar.label));
      const traces = data.parts.map((part, index) => ({
        type: "bar", orientation: "h", name: part, y: names, x: bars.map((bar) => bar.means[index]),
        marker: { color: css(`--part-${index + 1}`), line: { color: css("--card"), width: 1 } },
        hovertemplate: `%{x:.3~g} s ${part}<extra>%{y}</extra>`,
      }));
      target.style.height = `${130 + bars.length * (narrow ? 58 : 34)}px`;
      return Plotly.react(target, traces, {
        ...layout, barmode: "stack", bargap: 0.3, margin: { l: 10, r: 14, t: 8, b: 40 },
        legend: { orientation: "h", traceorder: "normal", x: 0, y: 1, yanchor: "bottom" },
        xaxis: { ...axis, rangemode: "tozero", title: { ...axis.title, text: "seconds since the fault" } },
        yaxis: { ...axis, showgrid: false, tickfont: { ...axis.tickfont, color: css("--ink") } },
      }, CONFIG);
    };
  }

  // --- all figures, in their order, and again when the colours change ---
  async function main() {
    const figures = [...document.querySelectorAll(".plot[data-figure]")];
    try {
      await unpack();
    } catch (error) {
      figures.forEach((plot) => {
        plot.innerHTML = '<p class="failed">This browser cannot unpack the plotting code; the numbers are in the table below.</p>';
      });
      root.dataset.plots = "unavailable";
      return;
    }
    const kinds = { timeline, stack, strips };
    const shows = figures.map((plot) => {
      const data = parse(plot.dataset.figure);
      return { plot, show: kinds[data.kind](plot, plot.parentElement.querySelector(".controls"), data) };
    });
    const draw = async () => {
      root.dataset.plots = "drawing";
      for (const { plot, show } of shows) {
        // What is folded has no size to be drawn in yet.
        if (plot.closest("details:not([open])")) continue;
        await show();
        // The page stays responsive between two figures.
        await new Promise((resolve) => setTimeout(resolve));
      }
      root.dataset.plots = "drawn";
    };
    await draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
    document.querySelectorAll("details.rest").forEach((rest) => rest.addEventListener("toggle", draw));
  }
  main();
})();
