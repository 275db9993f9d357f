Idle -> CheckPacket(LENGTH 5, LENGTH_EQ 6) -> Discard;
Idle -> CheckPacket(LENGTH 5, LENGTH_GE 6) -> Discard;
Idle -> CheckPacket(ALIGNMENT 1 0) -> Discard;
Idle -> CheckPacket(ALIGNMENT 4 4) -> Discard;
Idle -> CheckPacket(ALIGNMENT 4 ) -> Discard;
Idle -> CheckPacket(ALIGNMENT 4 1 2) -> Discard;
Idle -> CheckPacket(ALIGNMENT x) -> Discard;
Idle -> CheckPacket(ALIGNMENT "") -> Discard;
Idle -> CheckPacket(x, DATA_OFFSET -1) -> Discard;
