internal import EventLoop
internal import HTTPServer
internal import Logging

/// Where every request comes in: finds its route, says who asks, and hands it on.
///
/// - Threading: any; runs on the threads that speak HTTP and never waits.
final class FrontDoor: Sendable {
    private let hub: GatewayHub
    private let table: RouteTable
    private let gatekeeper: Gatekeeper
    private let dispatch: Dispatch
    private let endpoints: HealthEndpoints
    /// The routes' places in the metrics, by method and pattern.
    private let places: [String: Int]

    init(
        hub: GatewayHub, table: RouteTable, gatekeeper: Gatekeeper, dispatch: Dispatch,
        endpoints: HealthEndpoints
    ) {
        self.hub = hub
        self.table = table
        self.gatekeeper = gatekeeper
        self.dispatch = dispatch
        self.endpoints = endpoints
        var places: [String: Int] = [:]
        for route in table.all {
            places["\(route.method) \(route.pattern)"] =
                hub.metrics.operations.firstIndex(of: route.operation) ?? hub.metrics.noOperation
        }
        self.places = places
    }

    /// Takes a request in.
    func take(_ exchange: HTTPExchange) {
        let request = exchange.request
        if let response = endpoints.respond(request) { return exchange.respond(response) }
        let id = Self.usableID(request.header("x-request-id")) ?? hub.makeRequestID()
        let pending = hub.begin(exchange, requestID: id)
        do throws(Problem) { try route(request, pending) } catch { pending.refuse(error) }
    }

    private func route(_ request: HTTPRequest, _ pending: PendingCall) throws(Problem) {
        guard !request.isMalformed, let segments = PercentText.segments(ofPath: request.rawPath) else {
            throw .badRequest("The path or the query can't be decoded; use percent-encoded UTF-8.")
        }
        if let response = hub.preflight(request) { return pending.answer(response) }
        let method = request.method == "HEAD" ? "GET" : request.method
        switch table.match(method: method, segments: segments) {
        case .nothing: throw .notFound("There is nothing at this path.")
        case .otherMethods(let methods):
            var response = Problem(
                405, "method_not_allowed", "The path doesn't take this method",
                detail: "It takes \(methods.joined(separator: ", "))."
            ).response(requestID: pending.requestID)
            response.headers.append(("allow", methods.joined(separator: ", ")))
            pending.answer(response)
        case .route(let route, let parameters):
            pending.setOperation(places["\(route.method) \(route.pattern)"] ?? hub.metrics.noOperation)
            try hand(route, parameters, pending)
        }
    }

    private func hand(
        _ route: GatewayRoute, _ parameters: [String: String], _ pending: PendingCall
    ) throws(Problem) {
        let nowMs = Clock.wallMs
        let app = parameters["app"] ?? ""
        let principal = try gatekeeper.principal(
            route.access, of: pending.request, app: app, recipient: parameters["recipient"], nowMs: nowMs,
            isCounted: false)
        if let fault = route.form.fault(in: pending.request) { throw fault }
        let call = GatewayCall(
            request: pending.request, parameters: parameters, app: app, principal: principal,
            requestID: pending.requestID, nowMs: nowMs)
        switch route.work {
        case .direct(let handler): try handler(call) { pending.answer($0) }
        case .plain(let handler):
            if !dispatch.send(.run(pending, call, handler)) { throw Dispatch.sendingFull }
        case .job(let handler):
            if !dispatch.send(.job(pending, call, handler)) { throw Dispatch.sendingFull }
        case .jobs:
            if !dispatch.send(.jobs(pending, call)) { throw Dispatch.sendingFull }
        case .registry(let handler): dispatch.ask(pending) { session in try handler(call, session) }
        }
    }

    /// The caller's id, when it may stand in a header and a log line as it is.
    static func usableID(_ text: String?) -> String? {
        guard let text, APIKey.isName(text) else { return nil }
        return text
    }
}
