extension DashboardScript {
    /// Charts in SVG: stacked bars and lines over time, with a cursor for pointer and keyboard.
    static let charts = #"""
        /** Round values for an axis from nought to at least top. */
        const ticks = (top) => {
          if (top <= 0) return [0, 1];
          const power = 10 ** Math.floor(Math.log10(top / 3));
          const step = [1, 2, 2.5, 5, 10].map((n) => n * power).find((n) => n * 4 >= top) || power * 10;
          const rounded = power < 1 ? step : Math.max(1, Math.round(step));
          const values = [];
          for (let value = 0; value < top + rounded * 0.999; value += rounded) values.push(value);
          return values;
        };

        /** Where labels of a time axis stand: about every 90 pixels, at round times. */
        const timeTicks = (start, stepMs, points, width) => {
          const all = points * stepMs;
          const steps = [1, 2, 5, 10, 15, 30, 60, 120, 180, 360, 720, 1440].map((m) => m * 60000);
          const every = steps.find((ms) => all / ms <= width / 78) || 86400000;
          const zone = new Date(start).getTimezoneOffset() * 60000;
          const found = [];
          const first = Math.ceil((start - zone) / every) * every + zone;
          for (let at = first; at < start + all; at += every) found.push(at);
          return found;
        };

        /**
         * A chart in a box. `series` are {name, label, values}; `kind` is bars (stacked) or lines; `partial`
         * is the part of the last point that has passed. The cursor follows the pointer and the arrow keys.
         */
        const chart = (box, options) => {
          const state = box.chart || (box.chart = { place: null });
          state.options = options;
          if (!state.svg) startChart(box, state);
          paint(box, state);
        };

        const startChart = (box, state) => {
          state.svg = draw("svg", { tabindex: "0", role: "img" });
          state.tip = make("div", { class: "tip", hidden: "" });
          state.spoken = make("p", { class: "sr", "aria-live": "polite" });
          box.append(state.svg, state.tip, state.spoken);
          const move = (place) => {
            const last = state.options.points - 1;
            state.place = place === null || last < 0 ? null : Math.min(last, Math.max(0, place));
            paint(box, state);
          };
          state.svg.addEventListener("pointermove", (event) => {
            const left = event.clientX - box.getBoundingClientRect().left - state.left;
            move(Math.floor(left / state.each));
          });
          state.svg.addEventListener("pointerleave", () => move(null));
          state.svg.addEventListener("blur", () => move(null));
          state.svg.addEventListener("keydown", (event) => {
            const last = state.options.points - 1;
            const now = state.place === null ? last + 1 : state.place;
            const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: last }[event.key];
            if (event.key === "Escape") return move(null);
            if (to === undefined) return;
            event.preventDefault();
            move(to);
            say(state.spoken, state.tip.innerText.replace(/\n+/g, ", "));
          });
          new ResizeObserver(() => paint(box, state)).observe(box);
        };

        const paint = (box, state) => {
          const { series, kind, points, startMs, stepMs, unit, empty, label } = state.options;
          const width = box.clientWidth, height = box.clientHeight;
          if (!width || !height) return;
          const isEmpty = series.every((one) => one.values.every((value) => !value));
          const peak = Math.max(0, ...Array.from({ length: points }, (_, place) => kind === "bars"
            ? series.reduce((sum, one) => sum + (one.values[place] || 0), 0)
            : Math.max(0, ...series.map((one) => one.values[place] || 0))));
          const marks = ticks(peak || 1), top = marks[marks.length - 1];
          const widest = Math.max(...marks.map((mark) => unit(mark).length));
          const left = widest * 6.6 + 10, bottom = 20, head = 8;
          const each = (width - left - 4) / Math.max(1, points);
          const y = (value) => head + (height - head - bottom) * (1 - value / top);
          const x = (place) => left + each * place;
          Object.assign(state, { left, each });
          const parts = marks.map((mark) => draw("g", {},
            draw("line", { class: "gridline", x1: left, x2: width, y1: y(mark), y2: y(mark) }),
            draw("text", { x: left - 6, y: y(mark) + 4, "text-anchor": "end", text: unit(mark) })));
          for (const at of timeTicks(startMs, stepMs, points, width)) {
            const isMidnight = clock(at) === "00:00";
            const middle = Math.min(width - 16, Math.max(left + 12, x((at - startMs) / stepMs)));
            parts.push(draw("text", { x: middle, y: height - 4, "text-anchor": "middle",
              text: isMidnight ? day(at) : clock(at) }));
          }
          if (kind === "bars") parts.push(...stackedBars(state.options, x, y, each));
          else parts.push(...series.map((one) => draw("path", { class: "line c-" + one.name,
            d: linePath(one.values, (place) => x(place + 0.5), y) })));
          if (state.place !== null && state.place < points) {
            const at = x(state.place + 0.5);
            parts.push(draw("line", { class: "cursor", x1: at, x2: at, y1: head, y2: height - bottom }));
          }
          set(state.svg, { viewBox: "0 0 " + width + " " + height, "aria-label": label });
          state.svg.replaceChildren(...parts);
          let note = box.querySelector(".empty");
          if (isEmpty && !note) box.append(make("p", { class: "empty", text: empty }));
          if (note && !isEmpty) note.remove();
          showTip(box, state, width);
        };

        const stackedBars = ({ series, points, partial }, x, y, each) => {
          const gap = each > 6 ? 2 : each > 3 ? 1 : 0, found = [];
          for (let place = 0; place < points; place += 1) {
            let sum = 0;
            for (const one of series) {
              const value = one.values[place] || 0;
              if (!value) continue;
              const low = y(sum), high = y(sum + value);
              found.push(draw("rect", { x: x(place) + gap / 2, width: Math.max(1, each - gap), y: high,
                height: Math.max(0.8, low - high), rx: each > 8 ? 1.5 : 0,
                class: "bar c-" + one.name + (place === points - 1 && partial < 1 ? " partial" : "") }));
              sum += value;
            }
          }
          return found;
        };

        /** A line with gaps where there is no value; a lone value is a dot. */
        const linePath = (values, x, y) => {
          let path = "", isOpen = false;
          values.forEach((value, place) => {
            if (value === null || value === undefined) { isOpen = false; return; }
            path += (isOpen ? "L" : "M") + x(place).toFixed(1) + " " + y(value).toFixed(1);
            if (!isOpen && (values[place + 1] === null || values[place + 1] === undefined)) path += "h2";
            isOpen = true;
          });
          return path;
        };

        const showTip = (box, state, width) => {
          const { series, startMs, stepMs, unit, points } = state.options;
          if (state.place === null || state.place >= points) { state.tip.hidden = true; return; }
          const at = startMs + state.place * stepMs;
          const until = stepMs > 60000 ? "–" + clock(at + stepMs) : "";
          state.tip.replaceChildren(make("b", { text: day(at) + " " + clock(at) + until }),
            ...series.map((one) => {
              const value = one.values[state.place];
              return make("span", {}, make("em", { class: "c-" + one.name, text: one.label }),
                make("span", { text: value === null ? "–" : unit(value) }));
            }));
          state.tip.hidden = false;
          const middle = state.left + state.each * (state.place + 0.5);
          state.tip.style.left = (middle > width / 2
            ? Math.max(0, middle - state.tip.offsetWidth - 12) : middle + 12) + "px";
        };

        const legend = (box, items) => sync(box, items, (item) => item.name,
          (item) => make("span", {}, make("i", { class: "key c-" + item.name }), item.label + " ",
            make("b")),
          (node, item) => {
            say(node.lastChild, item.text);
            set(node.lastChild, { "data-value": item.value });
          });

        /** A line of the last values without an axis. */
        const sparkline = (values) => {
          const top = Math.max(1, ...values), last = Math.max(1, values.length - 1);
          return draw("svg", { viewBox: "0 0 100 26", preserveAspectRatio: "none", "aria-hidden": "true" },
            draw("path", { d: linePath(values, (n) => 100 * n / last, (value) => 24 - 22 * value / top) }));
        };

        """#
}
