/// The dashboard's page: structure and words. What it shows is put in by ``DashboardScript``.
enum DashboardPage {
    static let html = #"""
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Peal</title>
        <link rel="icon" href="/dashboard/icon.svg">
        <link rel="stylesheet" href="/dashboard/style.css">
        <script src="/dashboard/app.js" defer></script>
        </head>
        <body data-state="loading">
        <a class="skip" href="#main">Skip to the figures</a>
        <header class="top">
          <div class="brand">
            <svg viewBox="0 0 24 24" aria-hidden="true"><path d="M12 2a6 6 0 0 0-6 6v4.6L4.2 16a1
              1 0 0 0 .9 1.5h13.8a1 1 0 0 0 .9-1.5L18 12.6V8a6 6 0 0 0-6-6Zm-2.4 17a2.5 2.5 0 0 0 4.8
                0Z"/></svg>
            <h1>Peal</h1>
          </div>
          <p class="live" id="live"><span class="dot" aria-hidden="true"></span><span
            id="live-text">Connecting</span></p>
          <div class="controls">
            <label class="field"><span>App</span>
              <select id="app"><option value="*">All apps</option></select></label>
            <fieldset class="range" id="range">
              <legend>Time range</legend>
              <label><input type="radio" name="range" value="15"><span>15&nbsp;min</span></label>
              <label><input type="radio" name="range" value="60" checked><span>1&nbsp;h</span></label>
              <label><input type="radio" name="range" value="360"><span>6&nbsp;h</span></label>
              <label><input type="radio" name="range" value="1440"><span>24&nbsp;h</span></label>
              <label><input type="radio" name="range" value="2880"><span>48&nbsp;h</span></label>
            </fieldset>
            <button type="button" class="quiet" id="theme">Theme: auto</button>
            <button type="button" class="quiet" id="key-button">API key</button>
          </div>
        </header>

        <main id="main" tabindex="-1">
          <p class="banner" id="banner" role="alert" hidden></p>

          <section class="verdict" id="verdict" aria-labelledby="verdict-line">
            <div class="verdict-mark" id="verdict-mark" aria-hidden="true"></div>
            <div class="verdict-body">
              <h2 id="verdict-line" aria-live="polite">Reading the figures</h2>
              <p id="verdict-more">One moment.</p>
              <ol class="problems" id="problems" aria-label="Problems"></ol>
            </div>
          </section>

          <section class="tiles" id="tiles" aria-label="Key figures"></section>

          <section class="card wide" aria-labelledby="traffic-title">
            <div class="card-head">
              <h2 id="traffic-title">Deliveries</h2>
              <p class="sub" id="traffic-sub"></p>
            </div>
            <div class="legend" id="traffic-legend"></div>
            <div class="chart" id="traffic"></div>
            <details class="as-table"><summary>Show as a table</summary>
              <div class="scroll" tabindex="0" role="region" aria-label="Deliveries as a table">
              <table id="traffic-table"></table></div></details>
          </section>

          <div class="grid">
          <div class="stack">
            <section class="card" aria-labelledby="latency-title">
              <div class="card-head"><h2 id="latency-title">Latency</h2>
                <p class="sub">from publication to the provider’s acceptance</p></div>
              <div class="legend" id="latency-legend"></div>
              <div class="chart small" id="latency"></div>
              <div class="spread" id="spread"></div>
            </section>

            <section class="card" aria-labelledby="retry-title">
              <div class="card-head"><h2 id="retry-title">Retries and dead letters</h2>
                <p class="sub" id="retry-sub"></p></div>
              <ul class="bars" id="tiers" aria-label="Waiting by tier"></ul>
              <dl class="facts" id="retry-facts"></dl>
            </section>
          </div>
          <div class="stack">
            <section class="card" aria-labelledby="reasons-title">
              <div class="card-head"><h2 id="reasons-title">Why deliveries failed</h2>
                <p class="sub" id="reasons-sub"></p></div>
              <ul class="chips" id="outcomes" aria-label="Outcomes"></ul>
              <ul class="bars" id="reasons" aria-label="Reasons"></ul>
            </section>

            <section class="card" aria-labelledby="unread-title">
              <div class="card-head"><h2 id="unread-title">Unread counters</h2>
                <p class="sub">what jobs added and reads cleared</p></div>
              <dl class="facts" id="unread"></dl>
            </section>
          </div>
          <div class="stack">
            <section class="card" aria-labelledby="lanes-title">
              <div class="card-head"><h2 id="lanes-title">Lanes</h2>
                <p class="sub">what waits in Kafka, and for how long</p></div>
              <table class="rows" id="lanes"></table>
            </section>

            <section class="card" aria-labelledby="orders-title">
              <div class="card-head"><h2 id="orders-title">Switches in force</h2>
                <p class="sub" id="orders-sub"></p></div>
              <ul class="orders" id="orders" aria-label="Switches in force"></ul>
              <p class="note" id="orders-note"></p>
              <div class="switch-new" id="switch-new" hidden>
                <button type="button" id="pause-provider">Pause a provider…</button>
              </div>
            </section>
          </div>
          </div>

          <section class="card wide" aria-labelledby="apps-title">
            <div class="card-head"><h2 id="apps-title">Apps</h2>
              <p class="sub">the last five minutes, and since the beginning</p></div>
            <table class="rows" id="apps"></table>
          </section>

          <section class="card wide" aria-labelledby="casts-title">
            <div class="card-head"><h2 id="casts-title">Broadcasts</h2>
              <p class="sub">expanded to one job a recipient</p></div>
            <table class="rows" id="casts"></table>
          </section>

          <section class="card wide" aria-labelledby="campaigns-title">
            <div class="card-head"><h2 id="campaigns-title">Campaigns</h2>
              <p class="sub">the latest ones, by what became of their deliveries</p></div>
            <table class="rows" id="campaigns"></table>
          </section>

          <section class="card wide" aria-labelledby="pods-title">
            <div class="card-head"><h2 id="pods-title">Pods</h2>
              <p class="sub" id="pods-sub"></p></div>
            <table class="rows" id="pods"></table>
          </section>

          <ul class="notes" id="notes" aria-label="Notes"></ul>
        </main>
        <footer><p>Figures come from Redis every two seconds. Times are this browser’s.</p></footer>

        <dialog id="key-dialog" aria-labelledby="key-title">
          <form id="key-form">
            <h2 id="key-title">API key</h2>
            <p id="key-why">To look, the key needs the scope <b>read</b> or <b>admin</b>; to throw switches,
              <b>admin</b>.</p>
            <label class="field"><span>Key</span>
              <input id="key" type="password" autocomplete="off" spellcheck="false" maxlength="512"></label>
            <p class="hint">It stays in this tab and is forgotten with it.</p>
            <p class="form-error" id="key-error" role="alert"></p>
            <div class="buttons">
              <button type="submit" class="primary">Use this key</button>
              <button type="button" id="key-forget">Forget it</button>
              <button type="button" id="key-cancel">Close</button>
            </div>
          </form>
        </dialog>

        <dialog id="switch-dialog" aria-labelledby="switch-title">
          <form id="switch-form">
            <h2 id="switch-title">Pause</h2>
            <p id="switch-what"></p>
            <label class="field" id="switch-provider-field" hidden><span>Provider</span>
              <select id="switch-provider">
                <option value="apns">apns</option><option value="fcm">fcm</option>
                <option value="web_push">web_push</option>
              </select></label>
            <label class="field" id="switch-reason-field"><span>Reason</span>
              <input id="switch-reason" maxlength="200" autocomplete="off"></label>
            <p class="form-error" id="switch-error" role="alert"></p>
            <div class="buttons">
              <button type="submit" class="danger" id="switch-go">Pause</button>
              <button type="button" id="switch-cancel">Leave it as it is</button>
            </div>
          </form>
        </dialog>
        <noscript><p class="banner">The dashboard needs JavaScript.</p></noscript>
        </body>
        </html>

        """#

    static let icon = #"""
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24"><path fill="#2f6fed" d="M12 2a6 6 0 0
          0-6
        6v4.6L4.2 16a1 1 0 0 0 .9 1.5h13.8a1 1 0 0 0 .9-1.5L18 12.6V8a6 6 0 0 0-6-6Zm-2.4 17a2.5 2.5 0 0
          0 4.8
        0Z"/></svg>

        """#
}
