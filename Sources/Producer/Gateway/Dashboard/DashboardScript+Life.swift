extension DashboardScript {
    /// The stream of documents, what is said while there is none, the key, the theme and the choices.
    static let life = #"""
        const stored = (name) => { try { return sessionStorage.getItem(name); } catch { return null; } };
        const store = (area, name, value) => {
          try {
            if (value) window[area].setItem(name, value); else window[area].removeItem(name);
          } catch { /* Private windows may refuse; the choice then lasts as long as the page. */ }
        };
        let key = stored("peal-key") || "";
        const keyHeader = () => key ? { authorization: "Bearer " + key } : {};

        const become = (state, text) => {
          document.body.dataset.state = state;
          say(byID("live-text"), text);
        };
        const banner = (text) => {
          byID("banner").hidden = !text;
          say(byID("banner"), text || "");
        };

        // The stream.
        let abort = null, heardMs = 0, waitMs = 1000, generation = 0;
        const connect = async () => {
          const mine = generation += 1;
          if (abort) abort.abort();
          abort = new AbortController();
          const query = new URLSearchParams({ app: view.wanted.app, minutes: view.wanted.minutes });
          try {
            const answer = await fetch("/v1/overview/stream?" + query, { headers: keyHeader(),
              credentials: "omit", cache: "no-store", signal: abort.signal });
            if (mine !== generation) return;
            if (!answer.ok) return refused(answer, mine);
            await follow(answer.body.getReader(), mine);
          } catch { /* Told below: whatever broke, the page goes on trying. */ }
          if (mine === generation) retry(mine, "The gateway does not answer");
        };
        const retry = (mine, text) => {
          if (view.doc) lapse(); else { become("away", text); banner(text + "; trying again."); }
          setTimeout(() => { if (mine === generation) connect(); }, waitMs);
          waitMs = Math.min(15000, waitMs * 2);
        };
        const refused = async (answer, mine) => {
          const why = await sentence(answer);
          if (answer.status === 401 || answer.status === 403) {
            become("denied", "No access");
            view.control = false;
            showVerdict("warn", answer.status === 401 ? "This page needs an API key"
              : "This API key may not look here", why);
            if (!byID("key-dialog").open) openKey(key ? why : "");
            return;
          }
          banner(why);
          retry(mine, why);
        };
        const follow = async (reader, mine) => {
          const decoder = new TextDecoder();
          let text = "";
          for (;;) {
            const { value, done } = await reader.read();
            if (mine !== generation) return reader.cancel();
            if (done) return;
            text += decoder.decode(value, { stream: true });
            let end;
            while ((end = text.indexOf("\n\n")) >= 0) {
              heard(text.slice(0, end));
              text = text.slice(end + 2);
            }
          }
        };
        const heard = (event) => {
          const name = /^event: (.*)$/m.exec(event), data = /^data: (.*)$/m.exec(event);
          if (!name || !data) return;
          const value = JSON.parse(data[1]);
          waitMs = 1000;
          heardMs = Date.now();
          if (name[1] === "access") { view.control = value.control; return; }
          if (name[1] === "failure") return failed(value);
          view.rates = [...view.rates.slice(-59), value.rate];
          banner("");
          become("live", "Live · " + clock(value.now_ms, true));
          // A panel that fails is a mistake of this page, not of the stream.
          try { show(value); } catch (mistake) { reportError(mistake); }
        };
        const failed = (value) => {
          become("away", "No figures");
          const age = view.doc ? " The figures below are those of " + clock(view.doc.now_ms, true) + "." : "";
          banner(value.sentence + age);
          showVerdict("bad", value.sentence, "The dashboard reads Redis; workers hold their jobs until it is "
            + "back. Since " + clock(value.since_ms, true) + ".");
        };
        const lapse = () => {
          const age = Date.now() - heardMs;
          if (!view.doc || document.body.dataset.state === "denied" || age < 7000) return;
          become("stale", "Stale · " + span(age));
          banner("No news for " + span(age) + ". The figures below are old; trying again.");
        };
        setInterval(lapse, 1000);

        // The key.
        const openKey = (why) => {
          byID("key").value = "";
          say(byID("key-error"), why);
          byID("key-forget").hidden = !key;
          byID("key-dialog").showModal();
          byID("key").focus();
        };
        const useKey = (text) => {
          key = text;
          store("sessionStorage", "peal-key", key);
          view.control = false;
          byID("key-dialog").close();
          waitMs = 1000;
          connect();
        };
        byID("key-button").addEventListener("click", () => openKey(""));
        byID("key-cancel").addEventListener("click", () => byID("key-dialog").close());
        byID("key-forget").addEventListener("click", () => useKey(""));
        byID("key-form").addEventListener("submit", (event) => {
          event.preventDefault();
          const text = byID("key").value.trim();
          if (/^[\x21-\x7e]+$/.test(text)) useKey(text);
          else say(byID("key-error"), "An API key is one word, such as peal_….");
        });

        // The theme.
        const themes = ["auto", "light", "dark"];
        const theme = (name) => {
          if (name === "auto") delete document.documentElement.dataset.theme;
          else document.documentElement.dataset.theme = name;
          say(byID("theme"), "Theme: " + name);
          store("localStorage", "peal-theme", name === "auto" ? "" : name);
        };
        const themeNow = () => document.documentElement.dataset.theme || "auto";
        byID("theme").addEventListener("click", () =>
          theme(themes[(themes.indexOf(themeNow()) + 1) % themes.length]));
        try {
          const saved = localStorage.getItem("peal-theme");
          if (themes.includes(saved)) theme(saved);
        } catch { /* As above. */ }

        // App and range; both stand in the address, so that a view can be passed on.
        const address = new URLSearchParams(location.hash.slice(1));
        const ranges = ["15", "60", "360", "1440", "2880"];
        // `peal up` hands its throw-away key over behind the #, which no server sees; it goes at once.
        if (address.get("key")) {
          key = address.get("key");
          store("sessionStorage", "peal-key", key);
          history.replaceState(null, "", location.pathname);
        }
        const appName = address.get("app") || "*";
        view.wanted = { app: /^[A-Za-z0-9._-]{1,64}$/.test(appName) ? appName : "*",
          minutes: ranges.includes(address.get("minutes")) ? address.get("minutes") : "60" };
        if (view.wanted.app !== "*") {
          byID("app").append(make("option", { value: view.wanted.app, text: view.wanted.app }));
          byID("app").value = view.wanted.app;
        }
        document.querySelector("input[name=range][value='" + view.wanted.minutes + "']").checked = true;
        const choose = (change) => {
          Object.assign(view.wanted, change);
          history.replaceState(null, "", "#" + new URLSearchParams(view.wanted));
          waitMs = 1000;
          connect();
        };
        byID("app").addEventListener("change", () => choose({ app: byID("app").value }));
        byID("range").addEventListener("change", (event) => choose({ minutes: event.target.value }));
        byID("traffic-table").closest("details").addEventListener("toggle", () => {
          if (view.doc) traffic(view.doc);
        });

        // A hidden page needs no news.
        document.addEventListener("visibilitychange", () => {
          if (document.hidden) { generation += 1; if (abort) abort.abort(); } else { connect(); }
        });
        connect();

        """#
}
