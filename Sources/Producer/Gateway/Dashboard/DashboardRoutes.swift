internal import Core
internal import HTTPServer
internal import Redis

/// The dashboard: its page, the overview that it shows, and the kill switch.
///
/// The page is the same for everybody and shows nothing by itself. What it shows comes by requests that need
/// a key with the scope `read` or `admin`; one for some apps may ask for these, one by one. Without keys
/// (`gateway.open`, on loopback only) anybody may look and nobody may throw a switch.
struct DashboardRoutes {
    private let hub: OverviewHub
    private let gatekeeper: Gatekeeper

    init(hub: OverviewHub, gatekeeper: Gatekeeper) {
        self.hub = hub
        self.gatekeeper = gatekeeper
    }

    /// The routes.
    var routes: [GatewayRoute] {
        let (hub, gatekeeper) = (hub, gatekeeper)
        let form = RequestForm.native(query: ["app", "minutes"])
        var all = DashboardAssets.all.map { asset in
            GatewayRoute(
                "GET", asset.path, "dashboard", .open,
                .direct { (_, answer) throws(Problem) in answer(asset.response) })
        }
        all += [
            GatewayRoute(
                "GET", "/v1/overview", "overview", .handler, form: form,
                .direct { (call, answer) throws(Problem) in
                    let question = try Self.question(call, gatekeeper)
                    let isTaken = hub.ask(question) { result in
                        switch result {
                        case .success(let json): answer(Self.document(json))
                        case .failure(let failure): answer(Self.refusal(failure, call))
                        }
                    }
                    if !isTaken { throw Dispatch.registryFull }
                }),
            GatewayRoute(
                "GET", "/v1/overview/stream", "overviewStream", .handler, form: form,
                .direct { (call, answer) throws(Problem) in
                    let question = try Self.question(call, gatekeeper)
                    let mayControl = gatekeeper.mayControl(call.request, app: question.app)
                    answer(Self.events(try hub.watch(question), mayControl: mayControl))
                }),
            GatewayRoute(
                "POST", "/v1/control", "control", .handler,
                .registry { call, session in
                    let order = try DashboardOrder(call.request)
                    let name = try gatekeeper.controller(call.request, app: order.scopeApp, nowMs: call.nowMs)
                    return .answer(try order.carryOut(by: name, session))
                }),
        ]
        return all
    }

    // MARK: Questions

    private static func question(
        _ call: GatewayCall, _ gatekeeper: Gatekeeper
    ) throws(Problem) -> OverviewHub.Question {
        let app = call.request.query("app") ?? "*"
        guard app == "*" || APIKey.isName(app) else {
            throw .badRequest("app is the name of an app, or * for all of them.", field: "app")
        }
        // Access first: a stranger learns nothing, not even what would be a good question.
        _ = try gatekeeper.principal(
            .key(.read), of: call.request, app: app, recipient: nil, nowMs: call.nowMs)
        guard let text = call.request.query("minutes") else {
            return OverviewHub.Question(app: app, minutes: 60)
        }
        guard let minutes = Int(text), (1...2_880).contains(minutes) else {
            throw .badRequest("minutes is a number from 1 to 2880, two days.", field: "minutes")
        }
        return OverviewHub.Question(app: app, minutes: minutes)
    }

    // MARK: Answers

    private static func document(_ json: [UInt8]) -> HTTPResponse {
        var response = HTTPResponse.json(200, bytes: json + [UInt8(ascii: "\n")])
        response.headers.append(("cache-control", "no-store"))
        return response
    }

    private static func refusal(_ failure: RedisFailure, _ call: GatewayCall) -> HTTPResponse {
        Problem.unavailable(OverviewHub.sentence(failure), retryAfterSeconds: 2)
            .response(requestID: call.requestID)
    }

    private static func events(_ stream: HTTPStream, mayControl: Bool) -> HTTPResponse {
        var response = HTTPResponse(
            status: 200,
            headers: [
                ("content-type", "text/event-stream"), ("cache-control", "no-store"),
                // A proxy that gathers answers would keep them back.
                ("x-accel-buffering", "no"),
            ])
        _ = stream.send(Array("event: access\ndata: {\"control\":\(mayControl)}\n\n".utf8))
        response.stream = stream
        return response
    }
}

extension Gatekeeper {
    /// Whether the request's key may throw switches for the app (`*`: for all of them).
    fileprivate func mayControl(_ request: HTTPRequest, app: String) -> Bool {
        (try? controller(request, app: app, nowMs: 0)) != nil
    }

    /// The name of the key that throws a switch.
    /// - Throws: 401 or 403; without keys nobody may.
    fileprivate func controller(
        _ request: HTTPRequest, app: String, nowMs: Int64
    ) throws(Problem) -> String {
        guard !isOpen else {
            throw .forbidden(
                "This gateway has no keys (gateway.open), so nobody may throw switches here; use peal "
                    + "control.")
        }
        if let site = request.header("sec-fetch-site"), site != "same-origin", site != "none" {
            throw .forbidden("Switches are thrown by the gateway's own page, or by programs.")
        }
        let principal = try self.principal(.key(.admin), of: request, app: app, recipient: nil, nowMs: nowMs)
        guard case .key(let name) = principal else { throw Self.notAllowed }
        return name
    }
}
