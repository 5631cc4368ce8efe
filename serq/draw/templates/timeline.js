"use strict";
(function () {
  var D = JSON.parse(document.getElementById("data").textContent);
  var $ = function (id) { return document.getElementById(id); };
  var canvases = Array.prototype.slice.call(document.querySelectorAll("canvas"));
  var engines = D.panels.map(function (p) { return p.engine; }).filter(Boolean);
  var cross = $("cross"), mark = $("mark"), tip = $("tip");
  var axis = D.axis, knots, places, view, full, least, colour, pending = false;

  // --- the horizontal axis: times to places and back ---

  function setAxis(kind) {
    axis = kind;
    knots = [D.start, D.end];
    places = knots.slice();
    least = (D.end - D.start) / 1e7;
    if (kind === "iterations") {
      var e = engines[0], k = [], q = [];
      for (var i = 0; i < e.starts.length; i++) { k.push(e.starts[i], e.ends[i]); q.push(e.before + i, e.before + i + 1); }
      knots = k; places = q;
      var first = place(D.start), last = place(D.end), ks = [D.start], qs = [first];
      for (i = 0; i < k.length; i++) if (k[i] >= D.start && k[i] <= D.end) { ks.push(k[i]); qs.push(q[i]); }
      ks.push(D.end); qs.push(last);
      knots = ks; places = qs;
      least = 2;
    }
    full = [places[0], places[places.length - 1]];
    least = Math.min(least, full[1] - full[0]);
    view = full.slice();
    $("axisname").textContent = kind === "iterations" ? "iteration\ntime" : "time";
    $("axisname").style.whiteSpace = "pre-line";
  }
  // The last index whose value is at most x, or -1.
  function find(a, x) {
    var low = 0, high = a.length;
    while (low < high) { var m = (low + high) >> 1; if (a[m] <= x) low = m + 1; else high = m; }
    return low - 1;
  }
  function line(from, to, x) {
    var i = find(from, x);
    if (i < 0) return to[0];
    if (i >= from.length - 1) return to[to.length - 1];
    var d = from[i + 1] - from[i];
    return d > 0 ? to[i] + (x - from[i]) / d * (to[i + 1] - to[i]) : to[i];
  }
  function place(t) { return line(knots, places, t); }
  function timeAt(q) { return line(places, knots, q); }
  function pixel(t, w) { return (place(t) - view[0]) / (view[1] - view[0]) * w; }

  // --- numbers ---

  function short(x) {
    if (x === 0) return "0";
    var a = Math.abs(x);
    if (a >= 1e5 || a < 1e-4) return String(Number(x.toPrecision(4)));
    return String(Number(x.toPrecision(5)));
  }
  function step(span, count) {
    var raw = span / count, p = Math.pow(10, Math.floor(Math.log10(raw)));
    return raw <= p ? p : raw <= 2 * p ? 2 * p : raw <= 5 * p ? 5 * p : 10 * p;
  }
  function who(e, r) {
    var q = e.requests[r];
    return "session " + q[0] + ", turn " + q[1] + (q[2] ? " (leg)" : "");
  }
  function plural(n, one) { return n + " " + one + (n === 1 ? "" : "s"); }

  // --- drawing ---

  function style(name) { return colour[name] || (colour[name] = getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim()); }
  function heightOf(c) {
    if (c.dataset.axis) return 36;
    var p = D.panels[+c.dataset.panel];
    if (c.dataset.rows) return Math.max(4, p.engine.rows * p.engine.height);
    return c.dataset.track ? p.tracks[+c.dataset.track].height : 11;
  }
  function drawAll() {
    pending = false;
    canvases.forEach(function (c) {
      var box = c.getBoundingClientRect();
      if (box.bottom < -50 || box.top > innerHeight + 50) { c.stale = true; return; }
      draw(c, box.width);
    });
    $("window").textContent = axis === "iterations"
      ? "iterations " + Math.floor(view[0]) + " to " + Math.ceil(view[1]) + ", time " + short(timeAt(view[0])) + " to " + short(timeAt(view[1]))
      : "time " + short(view[0]) + " to " + short(view[1]);
  }
  function later() { if (!pending) { pending = true; requestAnimationFrame(drawAll); } }
  function draw(c, w) {
    var ratio = devicePixelRatio || 1, h = heightOf(c);
    c.stale = false;
    c.width = Math.max(1, Math.round(w * ratio));
    c.height = Math.round(h * ratio);
    c.style.height = h + "px";
    var g = c.getContext("2d");
    g.scale(ratio, ratio);
    g.clearRect(0, 0, w, h);
    if (c.dataset.axis) return drawAxis(g, w);
    var p = D.panels[+c.dataset.panel];
    if (c.dataset.rows) drawRows(g, w, h, p.engine);
    else if (c.dataset.track) drawTrack(g, w, h, p.tracks[+c.dataset.track]);
    else drawEvents(g, w, h, p.events[+c.dataset.events]);
  }
  function drawRows(g, w, h, e) {
    var rh = e.height, gap = rh > 4 ? 1 : 0, last = new Map(), n = e.starts.length, i;
    var from = find(e.ends, timeAt(view[0])), to = Math.min(n - 1, find(e.starts, timeAt(view[1])));
    from = Math.max(0, from);
    // The pixels of the iterations in view; those outside stand beyond the edges.
    var X0 = function (k) { return k < from ? -20 : k > to ? w + 20 : pixel(e.starts[k], w); };
    var X1 = function (k) { return k < from ? -20 : k > to ? w + 20 : pixel(e.ends[k], w); };
    var waited = {};
    for (i = 0; i < e.stays.length; i += 5) {
      var row = e.stays[i], r = e.stays[i + 1], a = e.stays[i + 2], b = e.stays[i + 3];
      if (e.labels.length) {
        var since = waited[r] === undefined ? Math.max(D.start, e.joined[r]) : waited[r];
        var x0 = pixel(since, w), x1 = X0(a);
        g.fillStyle = style("waitline");
        if (x1 > 0 && x0 < w && x1 - x0 > 0.5) g.fillRect(Math.max(x0, -5), row * rh + rh / 2 - 0.75, x1 - Math.max(x0, -5), 1.5);
        waited[r] = e.stays[i + 4] ? e.ends[b] : Infinity;
      }
      if (b < from || a > to) continue;
      g.fillStyle = style("stay");
      var s0 = X0(a);
      g.fillRect(s0, row * rh + gap / 2, Math.max(0.4, X1(b) - s0), rh - gap);
    }
    // Decodes, and over them prefills, which are at least a pixel wide.
    for (var kind = 1; kind >= 0; kind--) {
      last.clear();
      g.fillStyle = style(kind ? "decode" : "prefill");
      for (i = 0; i < e.chunks.length; i += 6) {
        var first = e.chunks[i + 2], end = first + e.chunks[i + 3] - 1;
        if (e.chunks[i + 5] !== kind || end < from || first > to) continue;
        var lane = e.chunks[i], c0 = X0(first), c1 = X1(end);
        if (last.has(lane) && c1 < last.get(lane) + 0.4) continue;
        last.set(lane, c1);
        g.fillRect(c0, lane * rh + gap / 2, Math.max(kind ? 0.5 : 1, c1 - c0), rh - gap);
      }
    }
    if (!e.labels.length) {
      last.clear();
      g.fillStyle = style("bg");
      for (i = 0; i < e.stays.length; i += 5) {
        if (last.get(e.stays[i]) === e.stays[i + 2] - 1 && e.stays[i + 2] >= from && e.stays[i + 2] <= to)
          g.fillRect(X0(e.stays[i + 2]) - 0.5, e.stays[i] * rh, 1, rh);
        last.set(e.stays[i], e.stays[i + 3]);
      }
    }
    if (w / Math.max(1, to - from + 1) >= 4) {
      g.fillStyle = style("bg");
      g.globalAlpha = 0.55;
      for (i = from; i <= to; i++) g.fillRect(Math.round(pixel(e.starts[i], w)) - 0.5, 0, 1, h);
      g.globalAlpha = 1;
    }
    if (rh > 10) {
      g.font = "9px " + getComputedStyle(document.body).fontFamily;
      g.textAlign = "center"; g.textBaseline = "middle"; g.fillStyle = style("inside");
      for (i = 0; i < e.chunks.length; i += 6) {
        if (e.chunks[i + 5] || e.chunks[i + 3] > 1 || e.chunks[i + 2] < from || e.chunks[i + 2] > to) continue;
        var t0 = X0(e.chunks[i + 2]), t1 = X1(e.chunks[i + 2]), text = short(e.chunks[i + 4]);
        if (t1 - t0 > g.measureText(text).width + 4) g.fillText(text, (t0 + t1) / 2, e.chunks[i] * rh + rh / 2);
      }
    }
    g.fillStyle = style("preempt");
    for (i = 0; i < e.stays.length; i += 5) {
      if (e.stays[i + 4] && e.stays[i + 3] >= from && e.stays[i + 3] <= to) g.fillRect(X1(e.stays[i + 3]) - 2, e.stays[i] * rh, 2, rh);
    }
  }
  function drawTrack(g, w, h, t) {
    var base = h - 1;
    t.layers.forEach(function (layer) {
      var times = layer.times, values = layer.values, columns = Math.ceil(w);
      g.fillStyle = style(layer.kind);
      var at = timeAt(view[0]), i = find(times, at);
      for (var x = 0; x < columns; x++) {
        var until = timeAt(view[0] + (view[1] - view[0]) * (x + 1) / w);
        var low = i >= 0 ? values[i] : 0, high = low;
        while (i + 1 < times.length && times[i + 1] < until) {
          i++;
          // What holds from the very edge takes the place of what held before it.
          if (times[i] <= at) { low = high = values[i]; continue; }
          if (values[i] < low) low = values[i];
          if (values[i] > high) high = values[i];
        }
        var y1 = base * high / t.top, y0 = base * low / t.top;
        if (y1 > y0) { g.globalAlpha = 0.4; g.fillRect(x, base - y1, 1, y1 - y0); g.globalAlpha = 1; }
        if (y0 > 0) g.fillRect(x, base - y0, 1, y0);
        at = until;
      }
    });
    g.fillStyle = style("line");
    g.fillRect(0, base, w, 1);
    if (t.line !== null) {
      g.strokeStyle = style("soft"); g.setLineDash([4, 3]); g.beginPath();
      var y = Math.max(0.5, base - base * t.line / t.top + 0.5);
      g.moveTo(0, y); g.lineTo(w, y); g.stroke(); g.setLineDash([]);
    }
  }
  function drawEvents(g, w, h, events) {
    var last = -9;
    g.fillStyle = style(events.kind);
    for (var i = 0; i < events.times.length; i++) {
      var x = pixel(events.times[i], w);
      if (x < 0 || x > w || x - last < 0.5) continue;
      last = x;
      g.fillRect(x - 0.5, 1, 1, h - 2);
    }
  }
  function drawAxis(g, w) {
    var span = view[1] - view[0], s = step(span, Math.max(2, w / 110));
    if (axis === "iterations") s = Math.max(1, s);
    g.font = "11px " + getComputedStyle(document.body).fontFamily;
    g.textAlign = "center"; g.textBaseline = "top";
    for (var k = Math.ceil(view[0] / s); k * s <= view[1] * (1 + 1e-12); k++) {
      var q = k * s, x = (q - view[0]) / span * w, inside = Math.min(w - 22, Math.max(22, x));
      g.fillStyle = style("line"); g.fillRect(x, 0, 1, 5);
      g.fillStyle = style("soft");
      g.fillText(short(q), inside, 7);
      if (axis === "iterations") g.fillText(short(timeAt(q)), inside, 21);
    }
  }

  // --- zooming ---

  function show(a, b) {
    var width = Math.min(full[1] - full[0], Math.max(least, b - a)), middle = (a + b) / 2;
    a = Math.max(full[0], Math.min(full[1] - width, middle - width / 2));
    view = [a, a + width];
    hide();
    later();
  }
  function zoom(factor, at) { show(at - (at - view[0]) * factor, at + (view[1] - at) * factor); }
  function move(share) { var d = (view[1] - view[0]) * share; show(Math.max(full[0], view[0] + d) , Math.max(full[0], view[0] + d) + view[1] - view[0]); }
  function centre() { return (view[0] + view[1]) / 2; }
  function all() { show(full[0], full[1]); }
  function placeOf(c, x) { var box = c.getBoundingClientRect(); return view[0] + (x - box.left) / box.width * (view[1] - view[0]); }
  function hide() { cross.style.display = tip.style.display = "none"; }

  $("all").onclick = all;
  $("in").onclick = function () { zoom(0.5, centre()); };
  $("out").onclick = function () { zoom(2, centre()); };
  $("left").onclick = function () { move(-0.5); };
  $("right").onclick = function () { move(0.5); };
  document.addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    var act = { "+": $("in"), "=": $("in"), "-": $("out"), "0": $("all"), ArrowLeft: $("left"), ArrowRight: $("right") }[event.key];
    if (act) { act.click(); event.preventDefault(); }
  });
  var begun = null;
  function onCanvas(event) { return event.target.tagName === "CANVAS" ? event.target : null; }
  document.addEventListener("pointerdown", function (event) {
    var c = onCanvas(event);
    if (!c || event.button !== 0) return;
    begun = { c: c, x: event.clientX };
    event.preventDefault();
  });
  document.addEventListener("pointermove", function (event) {
    if (begun) {
      var box = begun.c.getBoundingClientRect();
      var x = Math.min(box.right, Math.max(box.left, event.clientX));
      mark.style.display = "block";
      mark.style.left = Math.min(begun.x, x) + "px";
      mark.style.width = Math.abs(x - begun.x) + "px";
      hide();
      return;
    }
    var c = onCanvas(event);
    if (!c) return hide();
    hover(c, event);
  });
  document.addEventListener("pointerup", function (event) {
    if (!begun) return;
    mark.style.display = "none";
    var a = placeOf(begun.c, begun.x), b = placeOf(begun.c, event.clientX);
    if (Math.abs(event.clientX - begun.x) > 4) show(Math.min(a, b), Math.max(a, b));
    begun = null;
  });
  document.documentElement.addEventListener("pointerleave", hide);
  document.addEventListener("pointercancel", function () { begun = null; mark.style.display = "none"; });
  document.addEventListener("dblclick", function (event) { if (onCanvas(event)) all(); });
  document.addEventListener("wheel", function (event) {
    var c = onCanvas(event);
    if (!c) return;
    var sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
    if (event.ctrlKey || event.metaKey) zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY * 0.004))), placeOf(c, event.clientX));
    else if (event.shiftKey || sideways) move((sideways ? event.deltaX : event.deltaY) / 1500);
    else return;
    event.preventDefault();
  }, { passive: false });

  // --- what stands under the pointer ---

  function hover(c, event) {
    var box = c.getBoundingClientRect(), q = placeOf(c, event.clientX), t = timeAt(q), text = "time " + short(t);
    if (axis === "iterations") text = "iteration " + Math.floor(q) + ", " + text;
    if (!c.dataset.axis) {
      var p = D.panels[+c.dataset.panel];
      if (c.dataset.rows) text = atRow(p.engine, Math.floor((event.clientY - box.top) / p.engine.height), t) + text;
      else if (c.dataset.track) {
        text = p.tracks[+c.dataset.track].layers.map(function (layer) {
          var i = find(layer.times, t);
          return layer.name + " " + short(i >= 0 ? layer.values[i] : 0);
        }).join("\n") + "\n" + text;
      }
    }
    cross.style.display = "block"; cross.style.left = event.clientX + "px";
    tip.textContent = text;
    tip.style.display = "block";
    var wide = tip.offsetWidth, high = tip.offsetHeight;
    tip.style.left = (event.clientX + 14 + wide > innerWidth ? event.clientX - 14 - wide : event.clientX + 14) + "px";
    tip.style.top = Math.min(innerHeight - high - 4, event.clientY + 14) + "px";
  }
  function atRow(e, row, t) {
    var k = find(e.starts, t), i;
    if (k < 0 || e.ends[k] < t) k = -1;
    for (i = 0; i < e.chunks.length; i += 6) {
      if (e.chunks[i] === row && k >= e.chunks[i + 2] && k < e.chunks[i + 2] + e.chunks[i + 3])
        return who(e, e.chunks[i + 1]) + "\n" + (e.chunks[i + 5] ? "decode, " : "prefill, ") + plural(e.chunks[i + 4], "token") + " in this iteration\n";
    }
    for (i = 0; i < e.stays.length; i += 5) {
      if (e.stays[i] === row && t >= e.starts[e.stays[i + 2]] && t <= e.ends[e.stays[i + 3]]) return who(e, e.stays[i + 1]) + "\nresident, not served\n";
    }
    return e.labels.length && row >= 0 && row < e.labels.length ? e.labels[row] + "\n" : "";
  }

  // --- start ---

  D.panels.forEach(function (p, i) {
    var box = document.querySelector('[data-labels="' + i + '"]');
    if (!box) return;
    (p.engine.labels.length ? p.engine.labels : [p.engine.rows + (p.engine.rows === 1 ? " slot" : " slots, from 0 at the top")]).forEach(function (label) {
      var line = document.createElement("div");
      line.textContent = line.title = label;
      box.appendChild(line);
    });
  });
  $("axispick").hidden = !D.both;
  $("axis").value = axis;
  $("axis").onchange = function () { setAxis($("axis").value); later(); };
  colour = {};
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", function () { colour = {}; later(); });
  addEventListener("resize", later);
  addEventListener("scroll", function () { if (canvases.some(function (c) { return c.stale; })) later(); }, { passive: true });
  canvases.forEach(function (c) { c.style.height = heightOf(c) + "px"; });
  setAxis(D.axis);
  drawAll();
  window.serqTimeline = { view: function () { return view.slice(); }, show: show };
})();
