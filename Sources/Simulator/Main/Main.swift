import Glibc
import SimulatorKit

/// `peal-simulator`: APNs and FCM doubles.
@main
struct SimulatorMain {
    static func main() { exit(SimulatorCommand.main()) }
}
