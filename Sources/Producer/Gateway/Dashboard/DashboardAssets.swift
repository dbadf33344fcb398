internal import HTTPServer

/// The files of the dashboard's page: embedded, so that a gateway needs nothing beside itself.
struct DashboardAsset: Sendable {
    let path: String
    let type: String
    let content: String

    /// The answer with what keeps a browser from loading or running anything else.
    var response: HTTPResponse {
        HTTPResponse(
            status: 200,
            headers: [
                ("content-type", type), ("content-security-policy", Self.policy),
                ("x-content-type-options", "nosniff"), ("referrer-policy", "no-referrer"),
                ("x-frame-options", "DENY"), ("cross-origin-opener-policy", "same-origin"),
                ("cross-origin-resource-policy", "same-origin"), ("cache-control", "no-cache"),
            ], body: Array(content.utf8))
    }

    private static let policy =
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

/// All of them.
enum DashboardAssets {
    static let all: [DashboardAsset] = [
        DashboardAsset(
            path: "/dashboard", type: "text/html; charset=utf-8", content: DashboardPage.html),
        DashboardAsset(
            path: "/dashboard/style.css", type: "text/css; charset=utf-8",
            content: DashboardStyle.base + DashboardStyle.parts),
        DashboardAsset(
            path: "/dashboard/app.js", type: "text/javascript; charset=utf-8",
            content: "\"use strict\";\n(() => {\n" + DashboardScript.tools + DashboardScript.charts
                + DashboardScript.panels + DashboardScript.switches + DashboardScript.life + "})();\n"),
        DashboardAsset(
            path: "/dashboard/icon.svg", type: "image/svg+xml", content: DashboardPage.icon),
    ]
}
