internal import HTTPServer

/// Every route of the API but those of the gateway itself (jobs, health, credentials).
package enum GatewayRoutes {
    /// The routes, literal paths before those with names in their place.
    package static func all(_ apps: GatewayApps, _ authority: any ContractAuthority) -> [GatewayRoute] {
        [description]
            + NativeDeviceRoutes.routes(apps) + NativeReadRoutes.routes(apps) + NativeTopicRoutes.routes(apps)
            + NativePreferenceRoutes.routes(apps) + NativeBroadcastRoutes.routes(apps)
            + SupportChatContract.routes(apps) + WalletAlertsContract(apps, authority).routes
            + CreatorContract(apps, authority).routes + WalletRequestsContract(apps, authority).routes
    }

    private static let description = GatewayRoute(
        "GET", "/openapi.json", "openapi", .open,
        .plain { _ throws(Problem) in .answer(.json(200, OpenAPIDocument.json)) })
}
