extension DashboardScript {
    /// What each panel shows of a document.
    static let panels = #"""
        const view = { doc: null, rates: [], control: false };

        const marks = {
          ok: "M5 13l4.5 4.5L19 7", warn: "M12 6v8M12 18.2v.1", bad: "M7 7l10 10M17 7L7 17",
          none: "M6 12h12",
        };
        const showVerdict = (level, line, more, problems = []) => {
          set(byID("verdict"), { "data-level": level });
          byID("verdict-mark").replaceChildren(draw("svg", { viewBox: "0 0 24 24" },
            draw("path", { d: marks[level] || marks.none })));
          say(byID("verdict-line"), line);
          say(byID("verdict-more"), more);
          document.title = (level === "ok" ? "" : level === "bad" ? "✕ " : "! ") + "Peal";
          sync(byID("problems"), problems, (one) => one.code + "/" + one.whom, () => make("li", {},
            make("p", { class: "what" }, tag(""), " ", make("span")), make("p", { class: "todo" })),
          (node, one) => {
            const [badge, , sentence] = node.firstChild.childNodes;
            set(badge, { class: "tag " + one.level });
            say(badge, one.level === "bad" ? "broken" : one.level === "warn" ? "watch" : "note");
            say(sentence, one.sentence);
            const since = one.since_ms ? "since " + moment(one.since_ms) : "";
            say(node.lastChild, [since, one.lever ? "go on with: " + one.lever : ""]
              .filter((part) => part).join(" · "));
          });
        };

        const verdict = (doc) => {
          const problems = doc.problems;
          const serious = problems.filter((one) => one.level !== "note");
          const lag = doc.lanes.reduce((sum, lane) => sum + lane.lag, 0);
          const summary = [rate(doc.rate) + " deliveries a second"];
          if (doc.sum.p99_ms !== null) summary.push("99 % within " + span(doc.sum.p99_ms));
          summary.push(lag ? many(lag, "job waits", "jobs wait") : "nothing waits");
          const level = problems.some((one) => one.level === "bad") ? "bad" : serious.length ? "warn" : "ok";
          const line = serious.length
            ? (serious.length === 1 ? "One thing needs attention" : serious.length + " things need attention")
            : "All is well";
          showVerdict(level, line, summary.join(" · "), problems);
        };

        const tiles = (doc) => {
          const { sum, lanes, retry } = doc;
          const ended = sum.accepted + sum.failed;
          const lag = lanes.reduce((all, lane) => all + lane.lag, 0);
          const oldest = Math.max(0, ...lanes.map((lane) => lane.oldest_ms));
          const waiting = retry.tiers.reduce((all, tier) => all + tier.records, 0);
          const dead = sum.dead + sum.rejected;
          const items = [
            { id: "rate", title: "Throughput now", value: rate(doc.rate), unit: "/s", exact: doc.rate,
              more: "deliveries that ended", spark: view.rates },
            { id: "accepted", title: "Accepted", value: count(sum.accepted), exact: sum.accepted,
              more: share(sum.accepted, ended) + " of " + count(ended) },
            { id: "failed", title: "Not accepted", value: count(sum.failed), exact: sum.failed,
              more: share(sum.failed, ended) + " of deliveries" },
            { id: "p99", title: "Latency", value: span(sum.p50_ms), exact: sum.p50_ms,
              more: "median; 99 % within " + span(sum.p99_ms) },
            { id: "lag", title: "Waiting in lanes", value: count(lag), exact: lag,
              more: oldest ? "oldest " + span(oldest) : "nothing is late" },
            { id: "retry", title: "Waiting to retry", value: count(waiting), exact: waiting,
              more: count(sum.retried) + " handed over" },
            { id: "dead", title: "Dead letters", value: count(dead), exact: dead,
              level: dead ? "warn" : "", more: dead ? "kept in the dead topic" : "none" },
          ];
          sync(byID("tiles"), items, (item) => item.id, (item) => make("div", { class: "tile" },
            make("h3", { text: item.title }), make("p", { class: "value" }, make("span"), make("small")),
            make("p", { class: "more" })), (node, item) => {
            set(node, { class: "tile " + (item.level || ""), "data-tile": item.id });
            const value = node.children[1];
            say(value.firstChild, item.value);
            say(value.lastChild, item.unit || "");
            set(value, { "data-value": item.exact, title: item.exact === null ? null : String(item.exact) });
            say(node.children[2], item.more);
            if (item.spark) {
              if (node.children[3]) node.children[3].remove();
              node.append(sparkline(item.spark));
            }
          });
        };

        const rangeText = (minutes) => minutes < 120 ? many(minutes, "minute") : minutes / 60 + " hours";

        const traffic = (doc) => {
          const { series, step, sum } = doc;
          const shown = [
            { name: "accepted", label: "accepted", values: series.accepted },
            { name: "retried", label: "retried", values: series.retried },
            { name: "failed", label: "not accepted", values: series.failed },
          ];
          say(byID("traffic-sub"), "by " + (step === 1 ? "minute" : step + " minutes") + ", the last "
            + rangeText(doc.minutes) + (doc.app === "*" ? "" : ", " + doc.app));
          legend(byID("traffic-legend"), shown.map((one) => ({
            name: one.name, label: one.label, value: sum[one.name], text: count(sum[one.name]) })));
          const points = series.accepted.length;
          const passed = (doc.now_ms - series.start_ms) / 60000 - (points - 1) * step;
          chart(byID("traffic"), { kind: "bars", series: shown, points, startMs: series.start_ms,
            stepMs: step * 60000, unit: count, partial: passed / step,
            empty: "No deliveries in this time", label: "Deliveries over the last "
              + rangeText(doc.minutes) + ": " + whole(sum.accepted) + " accepted, " + whole(sum.retried)
              + " retried, " + whole(sum.failed) + " not accepted. Arrow keys read single values." });
          if (byID("traffic-table").closest("details").open) trafficTable(doc, shown);
        };

        const trafficTable = (doc, shown) => table(byID("traffic-table"), [
          { name: "Time", show: (row) => moment(row.at) },
          ...shown.map((one) => ({ name: one.label, kind: "num", show: (row) => whole(row[one.name]) })),
        ], doc.series.accepted.map((_, place) => {
          const row = { at: doc.series.start_ms + place * doc.step * 60000 };
          for (const one of shown) row[one.name] = one.values[place];
          return row;
        }).reverse(), (row) => row.at, "No deliveries in this time");

        const latency = (doc) => {
          const { series, sum, step } = doc;
          const shown = [
            { name: "p50", label: "median", values: series.p50_ms },
            { name: "p99", label: "99 %", values: series.p99_ms },
          ];
          legend(byID("latency-legend"), shown.map((one) => ({
            name: one.name, label: one.label, value: sum[one.name + "_ms"],
            text: span(sum[one.name + "_ms"]) })));
          chart(byID("latency"), { kind: "lines", series: shown, points: series.p50_ms.length, partial: 1,
            startMs: series.start_ms, stepMs: step * 60000, unit: span, empty: "No accepted deliveries",
            label: "Latency: half of the deliveries within " + span(sum.p50_ms) + ", 99 % within "
              + span(sum.p99_ms) + ". Arrow keys read single values." });
          const bounds = sum.latency_bounds_ms.map((ms) => "≤ " + span(ms).replace(".0", ""))
            .concat("more");
          const top = Math.max(1, ...sum.latency);
          const box = byID("spread");
          const words = sum.latency.map((n, place) => n ? bounds[place] + " " + whole(n) : "");
          set(box, { role: "img", "aria-label": "Accepted deliveries by latency: "
            + (words.filter(Boolean).join(", ") || "none") });
          sync(box, sum.latency.map((n, place) => ({ n, place })), (one) => one.place,
            (one) => make("div", {}, make("i"), make("span",
              { text: bounds[one.place].replace("≤ ", "").replace(" ", "") })),
            (node, one) => {
              node.title = bounds[one.place] + ": " + whole(one.n);
              node.firstChild.style.height = 100 * one.n / top + "%";
            });
        };

        const outcomeNames = [["invalid_token", "dead tokens"], ["no_device", "no device"],
          ["rejected", "rejected"], ["dead", "dead"], ["expired", "expired"], ["muted", "muted"],
          ["capped", "capped"], ["duplicate", "duplicates"], ["cancelled", "cancelled"]];
        const bars = (list, items, top) => sync(list, items, (item) => item.key, () => make("li", {},
          make("span", { class: "name" }), make("span", { class: "count" }),
          make("span", { class: "track" }, make("i")), make("span", { class: "text" })),
        (node, item) => {
          const [name, number, track, text] = node.children;
          say(name, item.name);
          say(number, count(item.count));
          set(number, { "data-value": item.count });
          track.firstChild.style.width = 100 * item.count / Math.max(1, top) + "%";
          say(text, item.text || "");
          text.hidden = !item.text;
        });
        const reasons = (doc) => {
          const { sum } = doc;
          say(byID("reasons-sub"), sum.failed || sum.retried
            ? whole(sum.failed) + " not accepted, " + whole(sum.retried) + " retried" : "");
          sync(byID("outcomes"), outcomeNames.filter(([name]) => sum[name] > 0), ([name]) => name,
            ([, label]) => make("li", {}, make("b"), " " + label), (node, [name]) => {
              say(node.firstChild, count(sum[name]));
              set(node.firstChild, { "data-value": sum[name] });
            });
          const shown = sum.reasons.slice(0, 8);
          bars(byID("reasons"), shown.length ? shown.map((one) => ({
            key: one.reason, name: one.reason.replaceAll("_", " "), count: one.count, text: one.text }))
            : [{ key: "", name: "Nothing failed in this time", count: 0 }],
          Math.max(1, ...shown.map((one) => one.count)));
        };

        const lanes = (doc) => table(byID("lanes"), [
          { name: "Lane", kind: "name", show: (lane) => lane.lane },
          { name: "Waiting", kind: "num", show: (lane) => count(lane.lag), exact: (lane) => lane.lag },
          { name: "Oldest", kind: "num", show: (lane) => lane.oldest_ms ? span(lane.oldest_ms) : "–" },
          { name: "Deliveries", kind: "num", show: (lane) => count(lane.deliveries),
            exact: (lane) => lane.deliveries },
          { name: "State", kind: "num", show: (lane) => !lane.workers ? tag("no worker", "bad")
            : lane.full ? tag("full", "warn") : tag(many(lane.workers, "worker"), "ok") },
        ], doc.lanes, (lane) => lane.lane, "");

        const facts = (list, items) => sync(list, items, (item) => item.name,
          (item) => make("div", {}, make("dt", { text: item.name }), make("dd")), (node, item) => {
            say(node.lastChild, item.text);
            set(node.lastChild, { "data-value": item.value });
          });
        const retries = (doc) => {
          const { tiers, pods, held, due_error_p99_ms: late } = doc.retry;
          say(byID("retry-sub"), pods ? many(pods, "retry pod") : "no retry pod has reported");
          bars(byID("tiers"), tiers.map((tier) => ({ key: tier.tier, name: "after " + tier.tier,
            count: tier.records })), Math.max(1, ...tiers.map((tier) => tier.records)));
          const { sum } = doc;
          facts(byID("retry-facts"), [
            { name: "Handed over", text: count(sum.retried), value: sum.retried },
            { name: "Held in memory", text: count(held), value: held },
            { name: "Late at most", text: pods ? span(late) : "–", value: late },
            { name: "Dead letters", text: count(sum.dead + sum.rejected), value: sum.dead + sum.rejected },
          ]);
        };

        const unread = (doc) => facts(byID("unread"), [
          { name: "Added", text: count(doc.sum.unread_added), value: doc.sum.unread_added },
          { name: "Cleared", text: count(doc.sum.unread_cleared), value: doc.sum.unread_cleared },
          { name: "Since the beginning", value: doc.totals.unread_added - doc.totals.unread_cleared,
            text: count(doc.totals.unread_added - doc.totals.unread_cleared) },
        ]);

        const progress = (good, poor, all, label) => {
          const bar = make("div", { class: "progress", role: "img", "aria-label": label, title: label },
            make("i", { class: "good" }), make("i", { class: "poor" }));
          bar.firstChild.style.width = 100 * good / Math.max(1, all) + "%";
          bar.lastChild.style.width = 100 * poor / Math.max(1, all) + "%";
          return bar;
        };
        const stateTag = (state) => tag(state, { running: "ok", done: "", planned: "", paused: "warn",
          cancelled: "bad" }[state] || "");

        const apps = (doc) => {
          const chosen = doc.apps.filter((one) => doc.app === "*" || one.app === doc.app);
          table(byID("apps"), [
            { name: "App", kind: "name", show: (one) => one.app },
            { name: "Accepted", kind: "num", show: (one) => count(one.recent.accepted),
              exact: (one) => one.recent.accepted },
            { name: "Not accepted", kind: "num", exact: (one) => one.recent.failed,
              show: (one) => count(one.recent.failed) + (one.recent.failed
                ? " (" + share(one.recent.failed, one.recent.accepted + one.recent.failed) + ")" : "") },
            { name: "Retried", kind: "num", show: (one) => count(one.recent.retried) },
            { name: "Dead letters", kind: "num",
              show: (one) => count(one.recent.dead + one.recent.rejected) },
            { name: "Accepted in all", kind: "num", show: (one) => count(one.totals.accepted),
              exact: (one) => one.totals.accepted },
            { name: "State", kind: "num", show: (one) => isOrdered(doc, "app:" + one.app)
              ? tag("paused", "warn") : tag("running", "ok") },
            ...actions((one) => appActions(doc, one)),
          ], chosen, (one) => one.app, "No worker has reported an app yet.");
        };

        const broadcasts = (doc) => table(byID("casts"), [
          { name: "Broadcast", kind: "name", show: (one) => named(one.id, one.app + " · " + one.audience) },
          { name: "Parts", show: (one) => progress(one.parts_done, 0, one.parts,
            one.parts_done + " of " + many(one.parts, "part") + " expanded") },
          { name: "Expanded", kind: "num", show: (one) => one.parts
            ? Math.floor(100 * one.parts_done / one.parts) + " %" : "–" },
          { name: "Recipients", kind: "num", show: (one) => count(one.recipients),
            exact: (one) => one.recipients },
          { name: "Begun", kind: "num", show: (one) => moment(one.started_ms) },
          { name: "State", kind: "num", show: (one) => stateTag(one.state) },
          ...actions((one) => castActions(one)),
        ], doc.broadcasts, (one) => one.app + "/" + one.id, "No broadcast was begun lately.");

        const campaigns = (doc) => table(byID("campaigns"), [
          { name: "Campaign", kind: "name", show: (one) => named(one.campaign, one.app) },
          { name: "Accepted", show: (one) => progress(one.outcomes.accepted || 0,
            one.deliveries - (one.outcomes.accepted || 0), one.deliveries,
            share(one.outcomes.accepted || 0, one.deliveries) + " accepted") },
          { name: "Share", kind: "num", show: (one) => share(one.outcomes.accepted || 0, one.deliveries) },
          { name: "Deliveries", kind: "num", show: (one) => count(one.deliveries),
            exact: (one) => one.deliveries },
          { name: "Last", kind: "num", show: (one) => moment(one.last_ms) },
          { name: "State", kind: "num", show: (one) => stateTag(one.state) },
          ...actions((one) => campaignActions(one)),
        ], doc.campaigns, (one) => one.app + "/" + one.campaign, "No campaign was counted lately.");
        const named = (name, more) => {
          const box = make("span", {}, name);
          box.append(make("small", { text: more }));
          return box;
        };

        const podState = (one) => !one.alive ? tag("gone", "bad")
          : one.ready || (one.circuits || []).length || (one.faults || []).length ? tag("impaired", "warn")
          : tag("ready", "ok");
        const podNote = (doc, one) => {
          if (!one.alive) return "last heard of " + span(doc.now_ms - one.beat_ms) + " ago";
          const more = (one.faults || []).concat(
            (one.circuits || []).map((route) => "circuit open: " + route));
          return one.ready || more.join("; ") || (one.lanes || []).join(", ");
        };
        const podRate = (one) => one.rate === undefined ? "–" : rate(one.rate) + "/s";
        const pods = (doc) => {
          const alive = doc.pods.filter((one) => one.alive);
          const by = {};
          for (const one of alive) by[one.role] = (by[one.role] || 0) + 1;
          say(byID("pods-sub"), Object.entries(by).map(([role, number]) => number + " " + role).join(", "));
          table(byID("pods"), [
            { name: "Pod", kind: "name", show: (one) => named(one.name, podNote(doc, one)) },
            { name: "Role", show: (one) => one.role + (one.version ? " " + one.version : "") },
            { name: "Up", kind: "num", show: (one) => one.started_ms
              ? span(Math.max(0, doc.now_ms - one.started_ms)) : "–" },
            { name: "Rate", kind: "num", show: podRate },
            { name: "In flight", kind: "num",
              show: (one) => one.in_flight === undefined ? "–" : count(one.in_flight) },
            { name: "Memory", kind: "num", show: (one) => bytes(one.rss_bytes) },
            { name: "State", kind: "num", show: podState },
          ], doc.pods, (one) => one.name, "No pod has ever reported here: start a worker with this Redis.");
        };

        const notes = (doc) => sync(byID("notes"), doc.notes, (note) => note,
          (note) => make("li", { text: note }), () => {});

        const appChoice = (doc) => {
          const select = byID("app");
          const names = doc.apps.map((one) => one.app).sort();
          if (doc.app !== "*" && !names.includes(doc.app)) names.push(doc.app);
          if (view.wanted.app !== "*" && !names.includes(view.wanted.app)) names.push(view.wanted.app);
          const wanted = ["*", ...names].join("\n");
          if (select.names === wanted) return;
          select.names = wanted;
          select.replaceChildren(...["*", ...names].map((name) => make("option",
            { value: name, text: name === "*" ? "All apps" : name })));
          select.value = view.wanted.app;
        };

        const show = (doc) => {
          view.doc = doc;
          appChoice(doc);
          for (const panel of [verdict, tiles, traffic, latency, reasons, lanes, retries, unread, orders,
            apps, broadcasts, campaigns, pods, notes]) panel(doc);
        };

        """#
}
