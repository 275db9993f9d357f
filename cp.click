i :: InfiniteSource(DATA abcdef, LIMIT 2) -> Print(in) -> c :: CheckPacket(DATA abc, DATA_OFFSET 3, LENGTH_GE 7, ALIGNMENT 4 1) -> Print(out) -> Discard;
InfiniteSource(DATA abcdef, LIMIT 1) -> CheckPacket() -> Print(out) -> Discard;
InfiniteSource(DATA abcdef, LIMIT 1) -> CheckPacket(DATA abcdefg) -> Print(out) -> Discard;
InfiniteSource(DATA abcdef, LIMIT 1) -> CheckPacket(DATA abcde, ALIGNMENT 4 0) -> Print(out) -> Discard;
InfiniteSource(DATA abcdef, LIMIT 1) -> CheckPacket(DATA "", LENGTH_GE 0,  ALIGNMENT 4 0) -> Print(out) -> Discard;
InfiniteSource(DATA abcdef, LIMIT 1) -> CheckPacket(LENGTH 5,  ALIGNMENT 6 3) -> Print(out) -> Discard;
InfiniteSource(DATA abcdef, LIMIT 1) -> CheckPacket(LENGTH_LE 5, ALIGNMENT 8 3) -> Print(out) -> Discard;
DriverManager(wait 1s)
