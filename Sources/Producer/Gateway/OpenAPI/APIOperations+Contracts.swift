/// The operations of the clients' contracts.
extension APIOperations {
    private static let customer = "/v1/apps/{app}/customers/{recipient}"

    static let contracts: [APIOperation] = walletAlerts + supportChat + creator + walletRequests

    private static let walletAlerts: [APIOperation] = [
        APIOperation(
            "POST", "/v2/push/subscribe", "walletSubscribe", tag: "wallet alerts", .handler,
            "Subscribe a device to a wallet's alerts"
        )
        .security(["userToken", "clientKey"]).body("WalletSubscription")
        .answer(200, "It is subscribed.", "Empty"),
        APIOperation(
            "POST", "/v2/push/unsubscribe", "walletUnsubscribe", tag: "wallet alerts", .handler,
            "Unsubscribe a device"
        )
        .security(["userToken", "clientKey"]).body("WalletSubscription")
        .answer(200, "It is not subscribed.", "Empty"),
        APIOperation(
            "POST", "/v2/{appId}/send", "walletSend", tag: "wallet alerts", .handler,
            "Send an alert to one wallet, some or all"
        )
        .security(["dialectKey"]).idempotencyKey.body("WalletAlert")
        .answer(202, "It is accepted; without the channel PUSH nothing is pushed.", "Empty")
        .problems(404, 409, 422),
        APIOperation(
            "POST", "/v2/{appId}/send-batch", "walletSendBatch", tag: "wallet alerts", .handler,
            "Send up to 500 alerts to one wallet each"
        )
        .security(["dialectKey"]).idempotencyKey.body("WalletAlertBatch")
        .answer(202, "All are accepted.", "Empty").problems(404, 409, 422),
    ]

    private static let supportChat: [APIOperation] = [
        APIOperation(
            "POST", customer + "/push-tokens", "chatPutToken", tag: "support chat", .keyOrUser(.register),
            "Upload a customer's push token"
        )
        .body("ChatToken").answer(200, "It is registered.", "Device").problems(404),
        APIOperation(
            "DELETE", customer + "/push-tokens", "chatRemoveToken", tag: "support chat",
            .keyOrUser(.register), "Take a customer's push token back"
        )
        .body("TokenRemoval").answer(200, "It isn't registered any more.", "Removed").problems(404),
        APIOperation(
            "POST", customer + "/conversations/{conversation}/messages", "chatMessage", tag: "support chat",
            .key(.send), "Push a message of a conversation to every device of the customer"
        )
        .body("ChatMessage").answer(202, "Kafka has it.", "JobReceipt").problems(404),
        APIOperation(
            "POST", customer + "/conversations/{conversation}/read", "chatRead", tag: "support chat",
            .keyOrUser(.register), "Tell that a customer has read a conversation"
        )
        .body("ChatRead", isRequired: false)
        .answer(200, "The counter over all conversations.", "Unread").problems(404),
    ]

    private static let creator: [APIOperation] = [
        APIOperation(
            "POST", "/api/creator/device_tokens", "creatorPutToken", tag: "creators", .handler,
            "Register the token of the authenticated user's device"
        )
        .security(["userToken"]).body("CreatorToken").answer(200, "It is registered.", "Device"),
        APIOperation(
            "DELETE", "/api/creator/device_tokens", "creatorRemoveToken", tag: "creators", .handler,
            "Take a token of the authenticated user back"
        )
        .security(["userToken"]).body("TokenRemoval")
        .answer(200, "It isn't registered any more.", "Removed"),
        APIOperation(
            "POST", "/v1/apps/{app}/creators/{recipient}/notifications", "creatorNotify", tag: "creators",
            .key(.send), "Send a notification that leads somewhere"
        )
        .idempotencyKey.body("CreatorNotification").answer(202, "Kafka has it.", "JobReceipt")
        .problems(404, 409, 422),
    ]

    private static let walletRequests: [APIOperation] = [
        APIOperation(
            "POST", "/{project}/clients", "walletRegisterClient", tag: "wallet requests", .handler,
            "Register a client's token"
        )
        .security(["apiKey"], ["userToken"])
        .parameter(
            .query, "auth", "The client's token, where it can't set a header.", #"{"type":"string"}"#
        )
        .body("WalletClient").answer(200, "It is registered.", "WalletSuccess").problems(404),
        APIOperation(
            "DELETE", "/{project}/clients/{id}", "walletRemoveClient", tag: "wallet requests", .handler,
            "Remove a client"
        )
        .security(["apiKey"], ["userToken"])
        .parameter(
            .query, "auth", "The client's token, where it can't set a header.", #"{"type":"string"}"#
        )
        .answer(200, "It isn't registered.", "WalletSuccess").problems(404),
        APIOperation(
            "POST", "/{project}/clients/{id}", "walletPush", tag: "wallet requests", .handler,
            "Push a sealed message to a client"
        )
        .security(["apiKey"], ["bearerKey"], ["relaySignature"])
        .parameter(
            .header, "X-Ed25519-Timestamp", "When the relay signed it, since 1970.", #"{"type":"string"}"#
        )
        .idempotencyKey.body("WalletMessage")
        .answer(202, "Kafka has it; a client that isn't registered gets nothing.", "WalletSuccess")
        .problems(404, 409, 422),
    ]
}
