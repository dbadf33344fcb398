/// The dashboard's behaviour: plain JavaScript without a library, in pieces that make one function.
enum DashboardScript {
    /// Elements, numbers, times, and lists that are changed in place, so that nothing loses the focus.
    static let tools = #"""
        const byID = (id) => document.getElementById(id);
        const SVG = "http://www.w3.org/2000/svg";

        /** Makes an element; props are properties, `data-…`, `aria-…` and other attributes. */
        const make = (name, props = {}, ...children) => {
          const element = document.createElement(name);
          set(element, props);
          element.append(...children.filter((child) => child !== null && child !== undefined));
          return element;
        };
        const draw = (name, props = {}, ...children) => {
          const element = document.createElementNS(SVG, name);
          set(element, props);
          element.append(...children);
          return element;
        };
        const set = (element, props) => {
          for (const [name, value] of Object.entries(props)) {
            if (name === "text") element.textContent = value;
            else if (name === "click") element.addEventListener("click", value);
            else if (value === null || value === undefined) element.removeAttribute(name);
            else element.setAttribute(name, value);
          }
        };
        /** Sets a text only when it has changed: what is read aloud is not read again. */
        const say = (element, text) => { if (element.textContent !== text) element.textContent = text; };

        const plain = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
        const short = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
        const whole = (value) => plain.format(value);
        /** A count with at most six digits, else short; the whole one belongs into a title. */
        const count = (value) => Math.abs(value) < 1e6 ? plain.format(value) : short.format(value);
        const rate = (value) => value === 0 ? "0" : value < 10 ? value.toFixed(1) : count(Math.round(value));
        const share = (part, all) => {
          if (all <= 0) return "–";
          const percent = 100 * part / all;
          if (percent === 0 || percent === 100) return percent + " %";
          if (percent > 99.9) return "> 99.9 %";
          if (percent < 0.1) return "< 0.1 %";
          return percent.toFixed(percent < 10 || percent > 90 ? 1 : 0) + " %";
        };
        const bytes = (value) => {
          if (!value) return "–";
          const mega = value / 1048576;
          return mega < 1024 ? mega.toFixed(mega < 10 ? 1 : 0) + " MiB" : (mega / 1024).toFixed(1) + " GiB";
        };
        /** A span of time in two units at most. */
        const span = (ms) => {
          if (ms === null || ms === undefined || Number.isNaN(ms)) return "–";
          if (ms < 1000) return Math.round(ms) + " ms";
          const seconds = ms / 1000;
          if (seconds < 10) return seconds.toFixed(1) + " s";
          if (seconds < 120) return Math.round(seconds) + " s";
          const minutes = Math.floor(seconds / 60);
          if (minutes < 120) return minutes + " min";
          const hours = Math.floor(minutes / 60);
          if (hours < 48) return hours + " h " + (minutes % 60) + " min";
          return Math.floor(hours / 24) + " d " + (hours % 24) + " h";
        };
        const clock = (ms, withSeconds = false) => new Date(ms).toLocaleTimeString("en-GB",
          withSeconds ? {} : { hour: "2-digit", minute: "2-digit" });
        const day = (ms) => new Date(ms).toLocaleDateString("en-GB", { weekday: "short" });
        const moment = (ms) => {
          const isToday = new Date(ms).toDateString() === new Date().toDateString();
          return (isToday ? "" : new Date(ms).toLocaleDateString("en-GB",
            { day: "numeric", month: "short" }) + " ") + clock(ms);
        };
        const many = (number, one, more = one + "s") => whole(number) + " " + (number === 1 ? one : more);

        /** Keeps a parent's children in step with items: made once by key, then changed in place. */
        const sync = (parent, items, key, create, change) => {
          const known = parent.byKey || (parent.byKey = new Map());
          const wanted = new Set();
          let before = null;
          for (const item of items) {
            const name = key(item);
            wanted.add(name);
            let node = known.get(name);
            if (!node) { node = create(item); known.set(name, node); }
            change(node, item);
            const next = before ? before.nextSibling : parent.firstChild;
            if (next !== node) parent.insertBefore(node, next);
            before = node;
          }
          for (const [name, node] of known) {
            if (!wanted.has(name)) { node.remove(); known.delete(name); }
          }
        };

        /**
         * A table of rows: columns are {name, kind, show, exact}; show gives a text or a node. With nothing
         * to show, one sentence stands in the rows' place.
         */
        const table = (element, columns, items, key, nothing) => {
          if (!element.tBodies.length) {
            const head = make("tr");
            for (const column of columns) {
              head.append(make("th", { scope: "col", class: column.kind || "" },
                column.name || make("span", { class: "sr", text: "Actions" })));
            }
            element.append(make("thead", {}, head), make("tbody"));
          }
          const body = element.tBodies[0];
          if (!items.length) {
            sync(body, [0], () => "nothing", () => make("tr", {}, make("td",
              { class: "none full", colspan: columns.length, text: nothing })), () => {});
            return;
          }
          sync(body, items, key, () => {
            const row = make("tr");
            for (const column of columns) {
              row.append(make("td", { class: column.kind || "",
                "data-label": column.kind === "name" || column.kind === "actions" ? null : column.name }));
            }
            return row;
          }, (row, item) => columns.forEach((column, place) => {
            const cell = row.cells[place];
            if (column.change) return column.change(cell, item);
            const value = column.show(item);
            if (value instanceof Node) cell.replaceChildren(value);
            else say(cell, String(value));
            if (column.exact) set(cell, { "data-value": column.exact(item) });
          }));
        };

        const tag = (text, level = "") => make("span", { class: "tag " + level, text });

        """#
}
