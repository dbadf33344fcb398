import GatewayKit
import HTTPServer
import Testing

@Suite struct RouteTableTests {
    private let table = RouteTable([
        route("GET", "/v1/apps/{app}/topics"), route("PUT", "/v1/apps/{app}/topics/{topic}"),
        route("DELETE", "/v1/apps/{app}/topics/{topic}"), route("GET", "/{project}/clients"),
    ])

    private static func route(_ method: String, _ pattern: String) -> GatewayRoute {
        GatewayRoute(method, pattern, pattern, .open, .plain { _ in .answer(.notFound) })
    }

    @Test func aPathFindsItsRouteAndTheNamesInIt() {
        let match = table.match(method: "PUT", segments: ["v1", "apps", "shop", "topics", "a/b"])
        guard case .route(let route, let parameters) = match else {
            Issue.record("no route")
            return
        }
        #expect(route.pattern == "/v1/apps/{app}/topics/{topic}")
        #expect(parameters == ["app": "shop", "topic": "a/b"])
    }

    @Test func anotherMethodIsToldWhichOnesThereAre() {
        let match = table.match(method: "POST", segments: ["v1", "apps", "shop", "topics", "a"])
        guard case .otherMethods(let methods) = match else {
            Issue.record("found \(match)")
            return
        }
        #expect(methods == ["PUT", "DELETE"])
    }

    @Test(arguments: [
        [], [""], ["v1"], ["v1", "apps", "", "topics"], ["v1", "apps", "shop", "topics", "a", ""],
        ["v2", "apps", "shop", "topics"],
    ])
    func everythingElseIsNothing(segments: [String]) {
        guard case .nothing = table.match(method: "GET", segments: segments) else {
            Issue.record("found something at \(segments)")
            return
        }
    }

    @Test func aProblemSaysWhatToFixAndWhen() {
        let problem = Problem.unavailable("Redis does not answer.", retryAfterSeconds: 7)
        let response = problem.response(requestID: "r-1")
        #expect(response.status == 503)
        #expect(response.headers.contains { $0 == ("retry-after", "7") })
        #expect(response.headers.contains { $0 == ("content-type", "application/problem+json") })
        #expect(
            String(decoding: response.body, as: UTF8.self)
                == #"{"type":"urn:peal:problem:unavailable","title":"A part of the service is away","#
                + #""status":503,"detail":"Redis does not answer.","request_id":"r-1"}"# + "\n")
    }
}
