internal import Configuration
internal import Core
internal import HTTPServer
internal import Registry

/// Registering, listing and removing a recipient's devices.
package enum NativeDeviceRoutes {
    /// The routes.
    package static func routes(_ apps: GatewayApps) -> [GatewayRoute] {
        let devices = "/v1/apps/{app}/recipients/{recipient}/devices"
        return [
            GatewayRoute(
                "GET", devices, "listDevices", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    return .answer(
                        try list(apps.directory(app.name, session), try recipient(call)))
                }),
            GatewayRoute(
                "PUT", devices + "/{device}", "putDevice", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    return .answer(
                        try put(call, app, apps.zones, apps.directory(app.name, session)))
                }),
            GatewayRoute(
                "DELETE", devices + "/{device}", "removeDevice", .keyOrUser(.register),
                .registry { call, session in
                    let app = try apps.app(call.app)
                    let directory = apps.directory(app.name, session)
                    let device = try Names.device(call.parameters["device"] ?? "")
                    let wasThere = try directory.remove(recipient: try recipient(call), device: device)
                    return .answer(.json(200, "{\"removed\":\(wasThere)}\n"))
                }),
        ]
    }

    /// The recipient that the path names.
    static func recipient(_ call: GatewayCall) throws(Problem) -> String {
        try Names.recipient(call.parameters["recipient"] ?? "")
    }

    private static func list(_ directory: DeviceDirectory, _ recipient: String) throws -> HTTPResponse {
        let devices = try directory.devices(of: recipient).sorted { $0.id < $1.id }
        var answer = AnswerObject()
        answer.set("devices", .array(devices.map { DeviceFields.answer($0.id, $0.record).value }))
        return .json(200, answer.text)
    }

    private static func put(
        _ call: GatewayCall, _ app: Settings.App, _ zones: ZoneNames, _ directory: DeviceDirectory
    ) throws -> HTTPResponse {
        let recipient = try recipient(call)
        let device = try Names.device(call.parameters["device"] ?? "")
        let body = try JSONBody(call.request, known: DeviceFields.names)
        let record = try DeviceFields.record(body, app: app, zones: zones, nowMs: call.nowMs)
        try directory.register(recipient: recipient, device: device, record)
        return .json(200, DeviceFields.answer(device, record).text)
    }
}
