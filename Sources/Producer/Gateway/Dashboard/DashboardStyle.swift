/// The dashboard's looks: two themes of one set of colours, a grid, and what stands in it.
enum DashboardStyle {
    static let base = #"""
        :root {
          --bg: #f5f6f8; --card: #ffffff; --ink: #14171f; --dim: #566074; --line: #dfe3ea; --soft: #eef1f5;
          --accent: #1f5fd6; --accent-ink: #ffffff; --focus: #1f5fd6;
          --ok: #14733a; --ok-bg: #e3f4e8; --warn: #8a5300; --warn-bg: #fdf1d8;
          --bad: #b3261e; --bad-bg: #fdeae8;
          --s-accepted: #2f6fed; --s-failed: #c8420b; --s-retried: #a87900; --s-dead: #8a3b9e;
          --s-p50: #2f6fed; --s-p99: #8a3b9e;
          --shadow: 0 1px 2px rgb(20 23 31 / .06), 0 4px 16px rgb(20 23 31 / .05);
        }
        @media (prefers-color-scheme: dark) {
          :root:not([data-theme="light"]) {
            --bg: #0e1116; --card: #171b22; --ink: #eceff4; --dim: #a3adbd; --line: #2b323d; --soft:
              #1f252e;
            --accent: #7eaaff; --accent-ink: #0b1220; --focus: #9dbfff;
            --ok: #62cf86; --ok-bg: #10291a; --warn: #e8b04a; --warn-bg: #2d2310;
            --bad: #ff8a80; --bad-bg: #341917;
            --s-accepted: #6ea3ff; --s-failed: #ff8a57; --s-retried: #e0b13c; --s-dead: #cf8be0;
            --s-p50: #6ea3ff; --s-p99: #cf8be0;
            --shadow: 0 1px 2px rgb(0 0 0 / .4);
          }
        }
        :root[data-theme="dark"] {
          --bg: #0e1116; --card: #171b22; --ink: #eceff4; --dim: #a3adbd; --line: #2b323d; --soft: #1f252e;
          --accent: #7eaaff; --accent-ink: #0b1220; --focus: #9dbfff;
          --ok: #62cf86; --ok-bg: #10291a; --warn: #e8b04a; --warn-bg: #2d2310;
          --bad: #ff8a80; --bad-bg: #341917;
          --s-accepted: #6ea3ff; --s-failed: #ff8a57; --s-retried: #e0b13c; --s-dead: #cf8be0;
          --s-p50: #6ea3ff; --s-p99: #cf8be0;
          --shadow: 0 1px 2px rgb(0 0 0 / .4);
        }
        :root[data-theme="dark"] { color-scheme: dark; }
        :root[data-theme="light"] { color-scheme: light; }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        html { -webkit-text-size-adjust: 100%; }
        body {
          margin: 0; background: var(--bg); color: var(--ink); font: 15px/1.45 system-ui, -apple-system,
          "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif; font-variant-numeric: tabular-nums;
        }
        h1, h2, p, ul, ol, dl, dd, table, fieldset { margin: 0; padding: 0; }
        h1 { font-size: 18px; font-weight: 700; letter-spacing: -.01em; }
        h2 { font-size: 15px; font-weight: 650; }
        ul, ol { list-style: none; }
        fieldset { border: 0; min-width: 0; }
        button, select, input { font: inherit; color: inherit; }
        :focus-visible { outline: 2px solid var(--focus); outline-offset: 2px; border-radius: 6px; }
        main:focus { outline: none; }
        .sr { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
          white-space: nowrap; }
        .skip { position: absolute; left: -9999px; top: 0; background: var(--card); padding: 8px 14px;
          z-index: 9; }
        .skip:focus { left: 8px; top: 8px; }
        .sub, .hint, .note, footer { color: var(--dim); font-size: 13px; }

        .top {
          display: flex; flex-wrap: wrap; align-items: center; gap: 10px 18px; padding: 10px 20px;
          background: var(--card); border-bottom: 1px solid var(--line); position: sticky; top: 0;
            z-index: 5;
        }
        .brand { display: flex; align-items: center; gap: 8px; }
        .brand svg { width: 24px; height: 24px; fill: var(--accent); }
        .live { display: flex; align-items: center; gap: 8px; color: var(--dim); font-size: 13px; }
        .dot { width: 9px; height: 9px; border-radius: 50%; background: var(--dim); flex: none; }
        [data-state="live"] .dot { background: var(--ok); }
        [data-state="stale"] .dot, [data-state="loading"] .dot { background: var(--warn); }
        [data-state="away"] .dot, [data-state="denied"] .dot { background: var(--bad); }
        .controls { display: flex; flex-wrap: wrap; align-items: center; gap: 10px; margin-left: auto; }
        .field { display: flex; align-items: center; gap: 8px; font-size: 13px; color: var(--dim); }
        select, input[type="password"], input:not([type]) {
          background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px 10px;
          color: var(--ink); font-size: 14px; min-height: 36px; max-width: 100%;
        }
        .range { display: flex; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; }
        .range legend { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path:
          inset(50%); }
        .range label { position: relative; }
        .range input { position: absolute; opacity: 0; inset: 0; width: 100%; height: 100%; margin: 0;
          cursor: pointer; }
        .range span { display: block; padding: 7px 11px; font-size: 13px; color: var(--dim); white-space:
          nowrap; }
        .range label + label span { border-left: 1px solid var(--line); }
        .range input:checked + span { background: var(--accent); color: var(--accent-ink); font-weight:
          600; }
        .range input:focus-visible + span { outline: 2px solid var(--focus); outline-offset: -3px;
          box-shadow: inset 0 0 0 4px var(--card); }
        button {
          background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 6px 12px;
          font-size: 13px; min-height: 34px; cursor: pointer;
        }
        button:hover { background: var(--soft); }
        button.primary { background: var(--accent); border-color: var(--accent); color:
          var(--accent-ink); font-weight: 600; }
        button.danger { background: var(--bad); border-color: var(--bad); color: var(--card);
          font-weight: 600; }
        button:disabled { opacity: .55; cursor: default; }

        main { max-width: 1440px; margin: 0 auto; padding: 18px 20px 8px; display: grid; gap: 16px; }
        main > * { min-width: 0; }
        footer { max-width: 1440px; margin: 0 auto; padding: 4px 20px 24px; }
        .banner {
          background: var(--bad-bg); color: var(--bad); border: 1px solid currentcolor; border-radius: 10px;
          padding: 10px 14px; font-weight: 600;
        }
        [data-state="stale"] .banner { background: var(--warn-bg); color: var(--warn); }
        :is([data-state="stale"], [data-state="away"]) :is(.tiles, .card) { filter: saturate(.2); }

        """#

    static let parts = #"""
        .verdict {
          display: flex; gap: 14px; background: var(--card); border-radius: 14px; padding: 16px 18px;
          box-shadow: var(--shadow); border: 1px solid var(--line); border-left: 6px solid var(--dim);
        }
        .verdict-mark { width: 38px; height: 38px; border-radius: 50%; flex: none; background: var(--soft);
          display: grid; place-items: center; }
        .verdict-mark svg { width: 22px; height: 22px; fill: none; stroke: currentcolor; stroke-width: 2.6;
          stroke-linecap: round; stroke-linejoin: round; }
        .verdict h2 { font-size: 22px; line-height: 1.25; letter-spacing: -.015em; }
        .verdict-body { min-width: 0; flex: 1; }
        .verdict-body > p { color: var(--dim); margin-top: 2px; }
        .verdict[data-level="ok"] { border-left-color: var(--ok); }
        .verdict[data-level="ok"] .verdict-mark { background: var(--ok-bg); color: var(--ok); }
        .verdict[data-level="warn"] { border-left-color: var(--warn); }
        .verdict[data-level="warn"] .verdict-mark { background: var(--warn-bg); color: var(--warn); }
        .verdict[data-level="bad"] { border-left-color: var(--bad); }
        .verdict[data-level="bad"] .verdict-mark { background: var(--bad-bg); color: var(--bad); }
        .problems { display: grid; gap: 8px; margin-top: 10px; }
        .problems:empty { display: none; }
        .problems li { border-top: 1px solid var(--line); padding-top: 8px; }
        .problems .what { font-weight: 600; overflow-wrap: anywhere; }
        .problems .todo { color: var(--dim); font-size: 14px; overflow-wrap: anywhere; }
        .tag { display: inline-block; border-radius: 999px; padding: 1px 9px; font-size: 12px;
          font-weight: 600;
          background: var(--soft); color: var(--dim); white-space: nowrap; }
        .tag.ok { background: var(--ok-bg); color: var(--ok); }
        .tag.warn { background: var(--warn-bg); color: var(--warn); }
        .tag.bad { background: var(--bad-bg); color: var(--bad); }

        .tiles { display: grid; grid-template-columns: repeat(7, minmax(0, 1fr)); gap: 12px; }
        .tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding:
          12px 14px;
          box-shadow: var(--shadow); min-width: 0; }
        .tile h3 { margin: 0; font-size: 13px; font-weight: 500; color: var(--dim); }
        .tile .value { font-size: 26px; font-weight: 680; letter-spacing: -.02em; line-height: 1.2;
          margin-top: 2px;
          white-space: nowrap; }
        .tile .value small { font-size: 14px; font-weight: 500; color: var(--dim); letter-spacing: 0; }
        .tile .more { font-size: 13px; color: var(--dim); min-height: 19px; overflow-wrap: anywhere; }
        .tile svg { display: block; width: 100%; height: 26px; margin-top: 4px; }
        .tile svg path { fill: none; stroke: var(--accent); stroke-width: 1.6; vector-effect:
          non-scaling-stroke; }
        .tile.warn .value { color: var(--warn); } .tile.bad .value { color: var(--bad); }

        .grid { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 400px), 1fr));
          gap: 16px; }
        .stack { display: grid; gap: 16px; align-content: start; min-width: 0; }
        .card { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding:
          16px 18px;
          box-shadow: var(--shadow); min-width: 0; }
        .card-head { display: flex; flex-wrap: wrap; align-items: baseline; gap: 2px 10px; margin-bottom:
          10px; }
        .legend { display: flex; flex-wrap: wrap; gap: 4px 16px; font-size: 13px; color: var(--dim);
          margin-bottom: 6px; }
        .legend span { display: inline-flex; align-items: center; gap: 6px; }
        .legend b { color: var(--ink); font-weight: 600; }
        .key { width: 11px; height: 11px; border-radius: 3px; flex: none; background: currentcolor; }
        .chart { position: relative; height: 230px; border-radius: 8px; }
        .chart.small { height: 150px; }
        .chart svg { position: absolute; inset: 0; width: 100%; height: 100%; display: block; overflow:
          visible; }
        .chart text { fill: var(--dim); font-size: 11px; }
        .chart .gridline { stroke: var(--line); stroke-width: 1; }
        .chart .cursor { stroke: var(--dim); stroke-width: 1; stroke-dasharray: 3 3; }
        .chart .empty { position: absolute; inset: 0; display: grid; place-items: center; color:
          var(--dim); font-size: 14px; }
        .tip { position: absolute; top: 6px; pointer-events: none; background: var(--card); border: 1px
          solid var(--line);
          border-radius: 8px; box-shadow: var(--shadow); padding: 7px 10px; font-size: 12px; min-width:
            128px; z-index: 2; }
        .tip b { display: block; margin-bottom: 3px; }
        .tip span { display: flex; justify-content: space-between; gap: 14px; }
        .c-accepted { color: var(--s-accepted); fill: var(--s-accepted); stroke: var(--s-accepted); }
        .c-failed { color: var(--s-failed); fill: var(--s-failed); stroke: var(--s-failed); }
        .c-retried { color: var(--s-retried); fill: var(--s-retried); stroke: var(--s-retried); }
        .c-dead { color: var(--s-dead); fill: var(--s-dead); stroke: var(--s-dead); }
        .c-p50 { color: var(--s-p50); fill: var(--s-p50); stroke: var(--s-p50); }
        .c-p99 { color: var(--s-p99); fill: var(--s-p99); stroke: var(--s-p99); }
        .chart .bar { stroke: none; } .chart .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
        .chart .partial { opacity: .45; }
        .as-table { margin-top: 8px; font-size: 13px; } .as-table summary { color: var(--dim); cursor:
          pointer; width: max-content; }
        .scroll { overflow-x: auto; max-height: 300px; margin-top: 8px; }
        .scroll td, .scroll th { padding: 3px 12px 3px 0; text-align: right; white-space: nowrap; }
        .scroll th:first-child, .scroll td:first-child { text-align: left; }
        .spread { display: grid; grid-auto-flow: column; grid-auto-columns: 1fr; align-items: end; gap:
          3px; height: 74px; margin-top: 12px; }
        .spread div { display: grid; grid-template-rows: 1fr auto; height: 100%; font-size: 10px; color:
          var(--dim); text-align: center; }
        .spread i { align-self: end; display: block; background: var(--s-p50); border-radius: 3px 3px 0
          0; min-height: 1px; }

        .chips { display: flex; flex-wrap: wrap; gap: 6px; margin-bottom: 10px; }
        .chips li { background: var(--soft); border-radius: 999px; padding: 2px 10px; font-size: 13px; }
        .chips b { font-weight: 650; }
        .bars { display: grid; gap: 9px; }
        .bars li { display: grid; grid-template-columns: 1fr auto; gap: 1px 10px; font-size: 14px; }
        .bars .name { overflow-wrap: anywhere; } .bars .count { font-weight: 600; }
        .bars .track { grid-column: 1 / -1; height: 6px; border-radius: 3px; background: var(--soft);
          overflow: hidden; }
        .bars .track i { display: block; height: 100%; background: var(--s-failed); border-radius: 3px; }
        #tiers .track i { background: var(--s-retried); }
        .bars .text { grid-column: 1 / -1; color: var(--dim); font-size: 12.5px; }
        .facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(120px, 1fr)); gap: 12px;
          margin-top: 12px; }
        .card-head + .facts { margin-top: 0; }
        .facts dt { color: var(--dim); font-size: 13px; } .facts dd { font-size: 20px; font-weight: 650;
          letter-spacing: -.01em; }
        .orders { display: grid; gap: 8px; } .orders li { display: flex; align-items: center; gap: 10px;
          flex-wrap: wrap; }
        .orders .who { flex: 1; min-width: 160px; overflow-wrap: anywhere; } .orders .who small {
          display: block; color: var(--dim); }
        .note { margin-top: 10px; } .note:empty { display: none; } .switch-new { margin-top: 10px; }

        table { border-collapse: collapse; width: 100%; font-size: 14px; }
        .rows th { text-align: left; font-weight: 500; font-size: 12.5px; color: var(--dim); padding: 0
          12px 6px 0; white-space: nowrap; }
        .rows td { padding: 8px 12px 8px 0; border-top: 1px solid var(--line); vertical-align: middle; }
        .rows .num { text-align: right; white-space: nowrap; } .rows .name { font-weight: 600;
          overflow-wrap: anywhere; }
        .rows .name small { display: block; font-weight: 400; color: var(--dim); }
        .rows td:last-child, .rows th:last-child { padding-right: 0; }
        .rows .actions { text-align: right; white-space: nowrap; } .rows .actions button + button {
          margin-left: 6px; }
        .rows .none { color: var(--dim); }
        .progress { height: 8px; min-width: 90px; background: var(--soft); border-radius: 4px; overflow:
          hidden; display: flex; }
        .progress i { display: block; height: 100%; }
        .progress .good { background: var(--s-accepted); } .progress .poor { background: var(--s-failed); }
        .notes { color: var(--dim); font-size: 13px; padding: 0 4px; }

        dialog { border: 1px solid var(--line); border-radius: 14px; background: var(--card); color:
          var(--ink);
          padding: 20px; width: min(440px, calc(100vw - 32px)); box-shadow: 0 20px 60px rgb(0 0 0 / .35); }
        dialog::backdrop { background: rgb(10 12 16 / .5); }
        dialog form { display: grid; gap: 12px; } dialog h2 { font-size: 18px; overflow-wrap: anywhere; }
        dialog .field { display: grid; gap: 4px; } dialog input, dialog select { width: 100%; }
        .buttons { display: flex; flex-wrap: wrap; gap: 8px; }
        .form-error { color: var(--bad); font-weight: 600; } .form-error:empty { display: none; }

        @media (max-width: 1200px) {
          .tiles { grid-template-columns: repeat(4, minmax(0, 1fr)); }
          .tile:first-child { grid-column: span 2; }
        }
        @media (max-width: 760px) {
          .top { padding: 10px 14px; position: static; } main { padding: 14px 12px; gap: 12px; }
          .controls { margin-left: 0; width: 100%; } .controls .field { flex: 1; } .controls select {
            flex: 1; width: 100%; min-width: 0; }
          .range { width: 100%; order: -1; } .range label { flex: 1; text-align: center; } .range span {
            padding: 9px 4px; }
          .range label + label span { border-left: 1px solid var(--line); }
          .quiet { min-height: 40px; } .tiles { grid-template-columns: 1fr 1fr; gap: 10px; }
          .tile:first-child { grid-column: 1 / -1; } .tile .value
            { font-size: 22px; }
          .card { padding: 14px; } .verdict { padding: 14px; } .verdict h2 { font-size: 19px; }
          .rows thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path:
            inset(50%); }
          .rows, .rows tbody { display: block; } .rows tr { display: grid; grid-template-columns: 1fr
            1fr; gap: 4px 14px;
            border-top: 1px solid var(--line); padding: 10px 0; } .rows tr:first-child { border-top: 0;
              padding-top: 0; }
          .rows td { border: 0; padding: 0; } .rows td.name, .rows td.actions, .rows td.full {
            grid-column: 1 / -1; }
          .rows td.num { text-align: left; } .rows td[data-label]::before { content: attr(data-label);
            display: block;
            font-size: 12px; color: var(--dim); } .rows .actions { text-align: left; } .rows .actions
              button { min-height: 40px; }
        }
        @media (prefers-reduced-motion: no-preference) {
          .bars .track i, .progress i, .spread i { transition: width .4s, height .4s; }
        }
        @media (forced-colors: active) { .key, .track i, .progress i, .spread i { forced-color-adjust:
          none; } }

        """#
}
