import Core
import EventLoop
import TestSupport
import Testing

@testable import GatewayKit

/// The dashboard in a real browser.
final class DashboardView {
    let page: ChromiumPage
    private let browser: Chromium

    /// Opens the page of a gateway; `hash` chooses app and range.
    init(
        _ url: String, hash: String = "", width: Int = 1280, height: Int = 900, isDark: Bool = false
    ) throws {
        browser = try Chromium()
        page = try ChromiumPage(browser, width: width, height: height, isDark: isDark)
        try page.open("\(url)/dashboard\(hash)")
        // The new document, not the empty one before it.
        try #require(
            try page.wait(for: "!!document.getElementById('verdict') && !!document.body.dataset.state"))
    }

    /// Types an API key as a person would.
    func show(key: String) throws {
        if try page.evaluate("document.getElementById('key-dialog').open").bool != true {
            try page.evaluate("document.getElementById('key-button').click()")
        }
        try #require(try page.wait(for: "document.activeElement.id === 'key'"))
        try page.type(key)
        try page.press("Enter")
    }

    var isLive: Bool { get throws { try page.wait(for: "document.body.dataset.state === 'live'") } }

    /// The exact number behind what an element shows.
    func number(_ selector: String) throws -> Int64? {
        try page.evaluate(
            "Number(document.querySelector(\"\(selector)\")?.getAttribute('data-value') ?? NaN)"
        ).integer
    }

    /// Waits until the exact number behind an element is this.
    func shows(_ selector: String, _ value: Int64) throws -> Bool {
        try page.wait(
            for: "document.querySelector(\"\(selector)\")?.getAttribute('data-value') === '\(value)'")
    }

    /// The exact number in a table's cell: the row whose first cell begins with `row`, the cell of `label`.
    func cell(_ table: String, _ row: String, _ label: String) throws -> Int64? {
        let found = try page.evaluate(
            "[...document.querySelectorAll('#\(table) tbody tr')]"
                + ".find((one) => one.cells[0].innerText.startsWith('\(row)'))"
                + "?.querySelector(\"[data-label='\(label)']\")?.getAttribute('data-value')")
        return found.string.flatMap { Int64($0) }
    }

    /// Gives an element the focus and presses a key.
    func press(_ key: String, on selector: String) throws {
        try page.evaluate("document.querySelector(\"\(selector)\").focus()")
        try page.press(key)
    }

    /// What is wrong with the contrast of texts to what lies behind them (WCAG 2.1, 1.4.3), in words.
    func contrastFaults() throws -> [String] {
        let found = try page.evaluate(
            #"""
            (() => {
              const parse = (text) => {
                const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
                return { r, g, b, a };
              };
              const light = ({ r, g, b }) => {
                const [x, y, z] = [r, g, b].map((v) => v / 255)
                  .map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
                return 0.2126 * x + 0.7152 * y + 0.0722 * z;
              };
              const behind = (element) => {
                for (let one = element; one; one = one.parentElement) {
                  const color = parse(getComputedStyle(one).backgroundColor);
                  if (color.a === 1) return color;
                }
                return { r: 255, g: 255, b: 255 };
              };
              const faults = [];
              for (const element of document.querySelectorAll("body *")) {
                const hasText = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
                if (!hasText || !element.checkVisibility() || element.closest("svg, .sr, dialog:not([open])")) {
                  continue;
                }
                const box = element.getBoundingClientRect();
                if (box.width < 2 || box.height < 2) continue;
                const style = getComputedStyle(element);
                const [one, other] = [light(parse(style.color)), light(behind(element))];
                const ratio = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
                const size = parseFloat(style.fontSize), isBold = Number(style.fontWeight) >= 700;
                const wanted = size >= 24 || isBold && size >= 18.66 ? 3 : 4.5;
                if (ratio < wanted) {
                  faults.push(element.tagName + "." + element.className + " '" + element.innerText.slice(0, 30)
                    + "' " + ratio.toFixed(2));
                }
              }
              return [...new Set(faults)].slice(0, 20);
            })()
            """#)
        return (found.array ?? []).compactMap(\.string)
    }

    /// Nodes of the accessibility tree as (role, name); ignored ones are left out.
    func accessibleNodes() throws -> [(role: String, name: String)] {
        let nodes = try page.call("Accessibility.getFullAXTree")["nodes"]?.array ?? []
        return nodes.compactMap { node in
            guard node["ignored"]?.bool != true, let role = node["role"]?["value"]?.string else { return nil }
            return (role, node["name"]?["value"]?.string ?? "")
        }
    }
}
