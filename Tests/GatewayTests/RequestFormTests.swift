import Core
import HTTPServer
import Testing

@testable import GatewayKit

@Suite struct RequestFormTests {
    private func fault(_ form: RequestForm, query: [String] = [], headers: [String] = []) -> Problem? {
        form.fault(
            in: HTTPRequest(
                method: "POST", path: "/", query: query.map { (name: $0, value: "x") },
                headers: headers.map { (name: $0, value: "x") }))
    }

    @Test func unknownQueryParametersAreRefusedByTheirNames() {
        let none = RequestForm.native()
        let paged = RequestForm.native(query: ["limit", "after"])
        #expect(fault(none) == nil && fault(none, query: [""]) == nil)
        let lane = fault(none, query: ["lane"])
        #expect(lane?.status == 400 && lane?.field == "lane")
        #expect(lane?.detail == "There is no such query parameter here; this operation takes none.")
        #expect(fault(paged, query: ["after", "limit"]) == nil)
        #expect(
            fault(paged, query: ["limit", "Limit"])?.detail
                == "There is no such query parameter here; known are limit, after.")
        #expect(fault(paged, query: ["limit", "limit"])?.field == "limit")
        // A name that the caller made up is cut before it is repeated.
        let long = fault(none, query: [String(repeating: "n", count: 500) + "\n"])
        #expect(long?.field.count == 64)
        #expect(fault(.contract, query: ["auth", "anything", "anything"]) == nil)
    }

    @Test func anIdempotencyKeyIsTakenRefusedOrLetBe() {
        let header = ["idempotency-key"]
        let refused = RequestForm.native(idempotencyKey: .refused(instead: "use dedup keys."))
        #expect(fault(refused) == nil && fault(refused, headers: ["x-other"]) == nil)
        let problem = fault(refused, headers: header)
        #expect(problem?.status == 400 && problem?.field == "idempotency-key")
        #expect(problem?.detail == "This operation takes no Idempotency-Key; use dedup keys.")
        #expect(fault(.native(idempotencyKey: .taken), headers: header) == nil)
        #expect(fault(.native(), headers: header) == nil)
        #expect(fault(.contract, headers: header) == nil)
    }

    /// Every operation by what it does with the key, so that a new one has to be put somewhere.
    @Test func everyOperationThatPublishesSaysWhatItDoesWithTheKey() throws {
        let rig = try HandlerRig()
        let routes = SendRoutes.routes(AppNames([])) + rig.table.all
        func names(_ isOne: (RequestForm) -> Bool) -> Set<String> {
            Set(routes.filter { isOne($0.form) }.map(\.operation))
        }
        #expect(
            names { $0.idempotencyKey == .taken } == [
                "sendJobs", "broadcast", "creatorNotify", "walletSend", "walletSendBatch", "walletPush",
            ])
        let refusing = names {
            if case .refused = $0.idempotencyKey { true } else { false }
        }
        #expect(refusing == ["read", "chatMessage"])
        #expect(
            names { $0 == .contract } == [
                "walletSubscribe", "walletUnsubscribe", "walletRegisterClient", "walletRemoveClient",
                "creatorPutToken", "creatorRemoveToken", "chatPutToken", "chatRemoveToken", "chatRead",
            ])
    }

    @Test func theDescriptionHasTheQueryParametersOfTheRoutes() throws {
        let rig = try HandlerRig()
        let all = APIOperations.sending + APIOperations.recipients + APIOperations.broadcasts
        for route in SendRoutes.routes(AppNames([])) + rig.table.all {
            guard let operation = all.first(where: { $0.id == route.operation }) else { continue }
            let described = operation.parameters.filter { $0.place == .query }.map(\.name)
            #expect(described == route.form.query, "\(route.operation)")
            let hasKey = operation.parameters.contains { $0.name == "Idempotency-Key" }
            #expect(hasKey == (route.form.idempotencyKey == .taken), "\(route.operation)")
        }
    }
}
