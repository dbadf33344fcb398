extension DashboardScript {
    /// The kill switch: buttons for keys that may, a question before each order, and the order itself.
    static let switches = #"""
        const isOrdered = (doc, subject) => doc.orders.some((order) => order.subject === subject);

        /** The column of buttons, kept over changes so that they keep the focus. */
        const actions = (buttons) => [{ name: "", kind: "actions", change: (cell, item) => {
          const wanted = view.control ? buttons(item) : [];
          sync(cell, wanted, (one) => one.verb, (one) => make("button", { type: "button" }),
            (node, one) => {
              say(node, one.verb[0].toUpperCase() + one.verb.slice(1));
              set(node, { "aria-label": one.verb + " " + one.what });
              node.onclick = () => ask(one);
            });
        } }];
        const appActions = (doc, one) => [{ what: "the app " + one.app, body: { app: one.app },
          verb: isOrdered(doc, "app:" + one.app) ? "resume" : "pause" }];
        const campaignActions = (one) => {
          if (one.state === "cancelled") return [];
          const order = { what: "the campaign " + one.campaign + " of " + one.app,
            body: { app: one.app, campaign: one.campaign } };
          const isPaused = isOrdered(view.doc, "campaign:" + one.app + ":" + one.campaign);
          return [{ ...order, verb: isPaused ? "resume" : "pause" }, { ...order, verb: "cancel" }];
        };
        const castActions = (one) => one.state === "done" || one.state === "cancelled" ? []
          : campaignActions({ app: one.app, campaign: one.campaign, state: one.state });

        const orderWords = (subject) => {
          const [kind, first, ...rest] = subject.split(":");
          if (kind === "app") return { what: "the app " + first, body: { app: first } };
          if (kind === "provider") return { what: first + (rest.length ? " for " + rest.join(":") : ""),
            body: { provider: first, ...(rest.length ? { app: rest.join(":") } : {}) } };
          return { what: "the " + kind + " " + rest.join(":") + " of " + first,
            body: { app: first, [kind]: rest.join(":") } };
        };
        const orders = (doc) => {
          say(byID("orders-sub"), doc.orders_in_all
            ? many(doc.orders_in_all, "order") : "nothing is paused or cancelled");
          sync(byID("orders"), doc.orders, (order) => order.subject, () => make("li", {}, tag(""),
            make("span", { class: "who" }, make("span"), make("small")),
            make("button", { type: "button", text: "Resume" })), (node, order) => {
            const [badge, who, button] = node.children;
            const words = orderWords(order.subject);
            set(badge, { class: "tag " + (order.action === "cancel" ? "bad" : "warn") });
            say(badge, order.action === "cancel" ? "cancelled" : "paused");
            say(who.firstChild, words.what);
            say(who.lastChild, [order.at_ms ? "since " + moment(order.at_ms) : "",
              order.by ? "by " + order.by : "", order.until_ms ? "until " + moment(order.until_ms) : "",
              order.reason ? "“" + order.reason + "”" : ""].filter(Boolean).join(", "));
            button.hidden = !view.control;
            set(button, { "aria-label": "resume " + words.what });
            button.onclick = () => ask({ ...words, verb: "resume" });
          });
          say(byID("orders-note"), view.control ? ""
            : "Read only. To throw switches, use an API key with the scope admin.");
          byID("switch-new").hidden = !view.control;
        };

        const warnings = {
          pause: "Its jobs wait until it is resumed; nothing is lost. Every pod follows within a second.",
          resume: "What waits goes out again, at once.",
          cancel: "What was not sent yet will never be sent. This can’t be taken back.",
        };
        let pending = null;
        const ask = (order) => {
          pending = order;
          const title = order.verb[0].toUpperCase() + order.verb.slice(1) + " " + order.what + "?";
          say(byID("switch-title"), title);
          say(byID("switch-what"), warnings[order.verb]);
          say(byID("switch-go"), order.verb[0].toUpperCase() + order.verb.slice(1));
          say(byID("switch-error"), "");
          byID("switch-provider-field").hidden = !order.chooses;
          byID("switch-reason-field").hidden = order.verb === "resume";
          byID("switch-reason").value = "";
          byID("switch-go").disabled = false;
          byID("switch-dialog").showModal();
          byID(order.verb === "resume" || order.chooses ? "switch-cancel" : "switch-reason").focus();
        };

        byID("pause-provider").addEventListener("click", () => ask({ what: "a provider for "
          + (view.wanted.app === "*" ? "every app" : view.wanted.app), verb: "pause", chooses: true,
          body: view.wanted.app === "*" ? {} : { app: view.wanted.app } }));
        byID("switch-cancel").addEventListener("click", () => byID("switch-dialog").close());
        byID("switch-form").addEventListener("submit", async (event) => {
          event.preventDefault();
          const body = { action: pending.verb, ...pending.body };
          if (pending.chooses) body.provider = byID("switch-provider").value;
          const reason = byID("switch-reason").value.trim();
          if (reason && pending.verb !== "resume") body.reason = reason;
          byID("switch-go").disabled = true;
          try {
            const answer = await fetch("/v1/control", { method: "POST", credentials: "omit",
              headers: { "content-type": "application/json", ...keyHeader() }, body: JSON.stringify(body) });
            if (answer.ok) {
              byID("switch-dialog").close();
              return;
            }
            say(byID("switch-error"), await sentence(answer));
          } catch {
            say(byID("switch-error"), "The gateway does not answer; whether it was done is unknown.");
          }
          byID("switch-go").disabled = false;
        });

        /** What a refusal says. */
        const sentence = async (answer) => {
          try {
            const problem = await answer.json();
            return problem.detail || problem.title;
          } catch {
            return "The gateway answered " + answer.status + ".";
          }
        };

        """#
}
