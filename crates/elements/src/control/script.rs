//! Runs a script: sets variables, calls handlers, waits, jumps, prints, stops the driver.
//!
//! Each argument is an instruction. They run one after the other, from the start of the graph unless TYPE says otherwise.
//!
//! | instruction | what it does |
//! |---|---|
//! | `set VAR TEXT`, `init VAR TEXT`, `export VAR [TEXT]` | sets a variable; `init` once, before the start; `export` also makes a read handler of it |
//! | `print [>FILE\|>>FILE] TEXT`, `printn` | prints a read handler's value, or a quoted text; `printn` without a newline |
//! | `save HANDLER FILE`, `append HANDLER FILE` | prints a handler's value to a file |
//! | `read HANDLER`, `write HANDLER VALUE` | calls a handler; `read` prints to standard error, `write` sets `$?` |
//! | `wait TIME`, `pause [N]` | waits for a time, or for N calls of the `step` handler |
//! | `label L`, `goto L [CONDITION]`, `loop` | jumps, also to `begin`, `end`, `exit`, `stop` and `error` |
//! | `return [TEXT]`, `end`, `exit`, `error [TEXT]` | ends the script |
//! | `stop` | ends the script and the driver |
//!
//! Texts may hold `$VAR`, `${VAR}` and `$(HANDLER PARAMETERS)`, one inside the other; handlers of the script itself need no
//! element name. An instruction with a `q` behind its name (`setq`, `printq`, `returnq`) removes a layer of quotes from the
//! result. `$?` is the status of the last `write`, `$args`, `$1`, `$2`, `$#` are the parameters of the `run` handler, `$0` the
//! handler's name, `$write` whether it was written, `$input` the input of a packet, and `$$` the process.
//!
//! TYPE is one of
//! - `ACTIVE`, which starts with the graph, the default;
//! - `PASSIVE`, which runs when the `run` handler is called, and `PROXY`, which runs for any handler;
//! - `PACKET`, which runs for each packet and sends it to the output it returns (`exit` drops it), the default of a script with
//!   ports;
//! - `SIGNAL NAME...`, which runs when one of the signals arrives, and again for the next one if it comes to `end`;
//! - `DRIVER`, which decides when the driver stops: see `DriverManager`.
//!
//! ```click
//! InfiniteSource -> c :: Counter -> Discard;
//! Script(set i 0, label again, wait 1s, print "$i $(c.count)", set i $(add $i 1), goto again $(lt $i 3), stop);
//! ```

use std::fmt::Write;

use element::{
    Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, HandlerKind, Packet, TimerId,
};

use super::scripting::{arithmetic, catch, words, How, Kind, Op, Outcome, Program, Report, Runner, State};

/// The class.
pub const CLASS: Class = Class::new::<Script>("Script", "-/-", "ah/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(element::Role::Single);

pub(super) const ARGS: &[Arg] = &[
    Arg::keyword(
        "TYPE",
        "ACTIVE, PASSIVE, PACKET, PROXY, DRIVER or SIGNAL NAME...",
        "What starts the script.",
    ),
    Arg::rest("INSTRUCTION", "instruction", "What to do, in order."),
];

const fn run(name: &'static str, doc: &'static str) -> Handler {
    Handler::new(name, HandlerKind::ReadParamWrite, doc)
}

pub(super) const HANDLERS: &[Handler] = &[
    Handler::write(
        "step",
        "Goes past the `pause` or `wait` at which the script is; a number goes past so many.",
    ),
    Handler::write("goto", "Goes on at a label."),
    run("run", "Runs the script from its beginning, with `$args`, and reads what it returns."),
    Handler::read_param("add", "The sum of numbers."),
    Handler::read_param("sub", "The first number less the others."),
    Handler::read_param("min", "The least of numbers."),
    Handler::read_param("max", "The greatest of numbers."),
    Handler::read_param("mul", "The product of numbers."),
    Handler::read_param("div", "The first number divided by the others, with a fraction."),
    Handler::read_param("idiv", "The first number divided by the others, without the fraction."),
    Handler::read_param("mod", "The remainder of two integers."),
    Handler::read_param("rem", "The remainder of two numbers."),
    Handler::read_param("neg", "The negative of a number."),
    Handler::read_param("abs", "The absolute value of a number."),
    Handler::read_param("eq", "Whether two numbers, or else words, are equal."),
    Handler::read_param("ne", "Whether two numbers or words differ."),
    Handler::read_param("gt", "Whether the first is greater than the second."),
    Handler::read_param("ge", "Whether the first is not less than the second."),
    Handler::read_param("lt", "Whether the first is less than the second."),
    Handler::read_param("le", "Whether the first is not greater than the second."),
    Handler::read_param("not", "The opposite of a truth value."),
    Handler::read_param("sprintf", "A format with the values that follow it put in."),
    Handler::read_param("first", "The first word."),
    Handler::read_param("random", "A random number, or one between two bounds."),
    Handler::read_param("and", "Whether all truth values are true."),
    Handler::read_param("or", "Whether any truth value is true."),
    Handler::read_param("nand", "Whether there are no truth values, and not all true."),
    Handler::read_param("nor", "Whether no truth value is true."),
    Handler::read_param("if", "The second word if the first is true, else the third."),
    Handler::read_param("in", "Whether the first word is among the others."),
    Handler::read("now", "The time in seconds since the epoch.").flags("alike"),
    Handler::read_param("readable", "Whether all these handlers can be read."),
    Handler::read_param("writable", "Whether all these handlers can be written."),
    Handler::read_param("length", "Number of bytes of the parameter."),
    Handler::read_param("unquote", "The parameter without a layer of quotes."),
    Handler::read_param("htons", "A 16-bit number in network byte order."),
    Handler::read_param("htonl", "A 32-bit number in network byte order."),
    Handler::read_param("ntohs", "A 16-bit number from network byte order."),
    Handler::read_param("ntohl", "A 32-bit number from network byte order."),
    Handler::read_param("cat", "The contents of a file, or `-`; not for remote users.").flags("private"),
    Handler::read_param("catq", "The contents of a file, quoted; not for remote users.").flags("private"),
    Handler::read_param("kill", "Sends a signal to processes; not for remote users.").flags("private"),
    Handler::read_param("get", "The value of a variable."),
    Handler::write("set", "Sets a variable to a value."),
    Handler::read_param("shift", "Takes the first word off a variable, `args` by default."),
];

pub(super) const DROPS: &[DropReason] =
    &[DropReason::new("script", "The script returned no output of the element for the packet.")];

const SCRIPT: usize = 0;

/// See the page above.
pub struct Script {
    runner: Runner,
}

impl Element for Script {
    fn configure(conf: &mut Configure<'_>) -> Result<Script, Failed> {
        let ty = conf.args.text("TYPE").unwrap_or("").to_string();
        let has_ports = conf.n_inputs + conf.n_outputs > 0;
        let default = match conf.environment.class(conf.element) {
            "DriverManager" => Kind::Driver,
            _ if has_ports => Kind::Packet,
            _ => Kind::Active,
        };
        let kind = Kind::parse(&ty)?.unwrap_or(default);
        if kind == Kind::Driver {
            claim_driver(conf)?;
        }
        if kind == Kind::Packet && conf.n_inputs == 0 {
            return Err("PACKET script must have inputs".into());
        }
        if kind != Kind::Packet && has_ports {
            return Err("ports allowed only on PACKET scripts".into());
        }
        let instructions = conf.args.rest();
        conf.finish()?;
        let program = Program::parse(&instructions, &kind).map_err(|errors| Failed { errors })?;
        Ok(Script { runner: Runner::new(State::new(kind, program)) })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        let (kind, first) = {
            let mut state = self.runner.state();
            state.timer = Some(timer);
            (state.kind.clone(), state.current().cloned())
        };
        if kind == Kind::Driver {
            ctx.manage_driver()?;
        }
        let mut report = Report::kept();
        self.runner.initialize(ctx, &mut report);
        match first {
            Some(first) if kind.starts() && first.op == Op::Wait => {
                self.runner.schedule_wait(ctx, &first.text, &mut report);
            }
            Some(first) if kind.starts() && first.op == Op::Initial => self.start(ctx, &kind, timer),
            _ => {}
        }
        if let Kind::Signal(numbers) = kind {
            catch(ctx, &numbers);
        }
        report.into_kept().iter().for_each(|message| ctx.tell(message));
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            self.push_packet(ctx, port, packet);
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            let Some(packet) = ctx.pull_packet(0) else { break };
            match self.output_of(ctx, 0) {
                Some(0) => batch.push(packet),
                output => {
                    self.send(ctx, output, packet);
                    break;
                }
            }
        }
        batch
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        let mut report = Report::executing();
        self.runner.run(ctx, 1, How::Timer, 0, &mut report);
        self.runner.complete(ctx);
    }

    fn signalled(&mut self, ctx: &mut Ctx<'_>, _signo: i32) -> bool {
        self.runner.call(ctx, "run", "", true, &mut Report::kept()).0 != Outcome::Failed
    }

    fn driver_stops(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.runner.call(ctx, "step", "router", true, &mut Report::plain()).0 == Outcome::Fine
    }

    fn second_hand(&self) -> Option<Box<dyn Element>> {
        Some(Box::new(Script { runner: self.runner.clone() }))
    }

    fn own_handler(&self, name: &str) -> Option<HandlerKind> {
        let mut state = self.runner.state();
        if state.program.exported(name).is_some() {
            return Some(HandlerKind::Read);
        }
        if state.kind != Kind::Proxy {
            return None;
        }
        if !state.proxied.iter().any(|known| known == name) {
            state.proxied.insert(0, name.to_string());
        }
        Some(HandlerKind::ReadParamWrite)
    }

    fn own_handlers(&self) -> Vec<(String, HandlerKind)> {
        let state = self.runner.state();
        let proxied = state.proxied.iter().map(|name| (name.clone(), HandlerKind::ReadParamWrite));
        let exports = state.program.exports().into_iter().map(|name| (name, HandlerKind::Read));
        let star = (state.kind == Kind::Proxy).then(|| ("*".to_string(), HandlerKind::Write));
        proxied.chain(exports).chain(star).collect()
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        if matches!(name, "get" | "shift") {
            return self.runner.variable(name, param);
        }
        if let Some(result) = arithmetic(name, param) {
            return result;
        }
        if let Some(result) = words(ctx, name, param) {
            return result;
        }
        let exported = {
            let state = self.runner.state();
            let idx = state.program.exported(name).filter(|_| name != "run");
            idx.and_then(|idx| state.program.variables.get(idx)).map(|(_, value)| value.clone())
        };
        if let Some(value) = exported {
            return Ok(value);
        }
        self.runner.call_kept(ctx, name, param, false)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name == "set" {
            return self.runner.variable(name, value).map(|_| ());
        }
        self.runner.call_kept(ctx, name, value, true).map(|_| ())
    }
}

/// Makes the element the driver script; there is one in a graph.
fn claim_driver(conf: &Configure<'_>) -> Result<(), Failed> {
    let kind = args::NameKind::Own("driver script");
    let scope = args::Scope::new(conf.scope.names, "");
    let known = scope.integer(kind, "driver").map(|idx| idx as usize);
    // In a graph that is being changed the one that is known may be gone, or have another type.
    let is_driver = |idx: &usize| {
        let (class, config) = (conf.environment.class(*idx), conf.environment.config(*idx));
        class == "DriverManager" || class == "Script" && config.to_ascii_uppercase().contains("DRIVER")
    };
    if known.filter(|idx| *idx != conf.element).is_some_and(|idx| is_driver(&idx)) {
        return Err("router has more than one driver script".into());
    }
    scope.define(kind, "driver", conf.element as u32);
    Ok(())
}

impl Script {
    fn start(&self, ctx: &mut Ctx<'_>, kind: &Kind, timer: TimerId) {
        if let Some(first) = self.runner.state().program.steps.first_mut() {
            first.n_steps = 1;
        }
        if *kind == Kind::Driver {
            // The driver asks its manager at once whether to go on.
            ctx.stop();
        } else {
            ctx.schedule_now(timer);
        }
    }

    /// Runs the script for a packet; gives the output it returns.
    fn output_of(&self, ctx: &mut Ctx<'_>, input: usize) -> Option<usize> {
        let mut report = Report::executing();
        {
            let mut state = self.runner.state();
            let variable = state.program.variable_or_new("input");
            if let Some((_, value)) = state.program.variables.get_mut(variable) {
                value.clear();
                // Writing to a string cannot fail.
                let _ = write!(value, "{input}");
            }
            state.position = 0;
        }
        self.runner.run(ctx, 0, How::Jump, 0, &mut report);
        let state = self.runner.state();
        let (_, _, returned) = state.outcome();
        args::integer::<i32>(returned).ok().and_then(|output| usize::try_from(output).ok())
    }

    fn push_packet(&self, ctx: &mut Ctx<'_>, input: usize, packet: Packet) {
        let output = self.output_of(ctx, input);
        self.send(ctx, output, packet);
    }

    /// Sends a packet on at once, as the script may ask for the effect when the next one comes.
    fn send(&self, ctx: &mut Ctx<'_>, output: Option<usize>, packet: Packet) {
        match output {
            Some(output) if output < ctx.n_outputs() => ctx.emit_now(output, Batch::of(packet)),
            _ => ctx.drop_packet(SCRIPT, packet),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn a_manager_without_end_is_asked_as_often_as_by_click() {
        let printed = crate::testing::run(
            "c :: Script(TYPE PASSIVE, read d.class, return true); d :: DriverManager(goto exit $(c.run));",
            &[],
        );
        assert_eq!(printed.matches("d.class:").count(), 1001);
    }

    #[test]
    fn scripts_loop_wait_and_stop() {
        check(
            "s :: Script(set i 0, label again, wait 1s, read s.get i, set i $(add $i 1), goto again $(lt $i 2), stop)",
            expect![[r#"
                s.get:
                0
                s.get:
                1
            "#]],
        );
    }

    #[test]
    fn each_save_turns_handler_and_file_round() {
        // The file of the second is in a folder that is not there.
        check(
            "a :: { c :: Idle -> Discard }; Script(set n 0, label again, save a/c.class -, set n $(add $n 1), goto again $(lt $n 2));
             Script(wait 1, stop)",
            expect![[r#"
                While executing 'Script@2 :: Script':
                  a/c.class: No such file or directory
            "#]],
        );
    }

    #[test]
    fn the_status_of_a_write_that_fails_is_that_of_the_handler() {
        check(
            r#"Idle -> u :: BandwidthRatedUnqueue(1Bps) -> Discard; Idle -> q :: Queue -> Discard;
            Idle -> b :: Block(1) -> Discard; b[1] -> Discard; Idle -> s :: Switch -> Discard;
            Idle -> d :: SetIPDSCP(1) -> Discard; Idle -> e :: RandomBitErrors(0.1) -> Discard; i :: RandomSeed(1);
            t :: ARPTable; Idle -> w :: StrideSwitch(1) -> Discard; Idle -> k :: Classifier(-) -> Discard;
            Idle -> a :: AggregateCounter -> Discard; Idle -> r :: IPRewriter(pass 0) -> Discard;
            Idle -> n :: Counter(COUNT_CALL 5 stop) -> Discard; Idle -> l :: IPClassifier(-) -> Discard;
            p :: ProgressBar(n.count, n.byte_count, ACTIVE false);
            m :: InfiniteSource(ACTIVE false) -> Discard; o :: RandomSource(5, ACTIVE false) -> Discard;
            z :: Script(write u.rate x, set v $v u.rate=$?, write u.config x, set v $v u.config=$?,
                write u.rate 2Bps, set v $v u.rate=$?, write q.capacity x, set v $v q.capacity=$?,
                write b.thresh x, set v $v b.thresh=$?, write s.config x, set v $v s.config=$?, write s.config 7, set v $v s.config=$?,
                write s.switch x, set v $v s.switch=$?, write d.dscp x, set v $v d.dscp=$?, write d.dscp 64, set v $v d.dscp=$?,
                write e.error_kind x, set v $v e.error_kind=$?, write e.p_bit_error x, set v $v e.p_bit_error=$?,
                write i.seed x, set v $v i.seed=$?, write t.insert x, set v $v t.insert=$?, write t.config x, set v $v t.config=$?,
                write w.config x, set v $v w.config=$?, writeq w.config "1, 2", set v $v w.config=$?,
                write a.count_call x, set v $v a.count_call=$?, write a.count_call 1, set v $v a.count_call=$?,
                write n.count_call x, set v $v n.count_call=$?, write n.count_call 1, set v $v n.count_call=$?,
                write n.byte_count_call x, set v $v n.byte_count_call=$?, write n.byte_count_call 1 y.z, set v $v n.byte_count_call=$?,
                write l.pattern0 x, set v $v l.pattern0=$?, write l.config x, set v $v l.config=$?,
                write p.poshandler y.z, set v $v p.pos=$?, write p.sizehandler n.x, set v $v p.size=$?, write p.active x, set v $v p.active=$?,
                write r.pattern0 x, set v $v r.pattern0=$?, write stop x, set v $v stop=$?,
                write k.config x, set v $v k.config=$?, write k.config, set v $v k.config=$?,
                write m.config LIMIT x, set v $v m.config=$?, write o.config x, set v $v o.config=$?, write o.config -1, set v $v o.config=$?,
                read z.get v, stop)"#,
            expect![[r#"
                While executing 'z :: Script':
                  While calling 'u.rate x':
                    RATE: parse error
                  While calling 'u.config x':
                    RATE: parse error
                  While calling 'q.capacity x':
                    CAPACITY: invalid number
                  While calling 'b.thresh x':
                    not an integer
                  While calling 's.config x':
                    OUTPUT: invalid number
                  While calling 's.config 7':
                    output must be < 1
                  While calling 's.switch x':
                    Switch output must be integer
                  While calling 'd.dscp x':
                    DSCP: invalid number
                  While calling 'd.dscp 64':
                    diffserv code point out of range
                  While calling 'e.error_kind x':
                    bad action 'x' (must be 'set', 'clear', or 'flip')
                  While calling 'e.p_bit_error x':
                    P: parse error
                  While calling 'i.seed x':
                    SEED: invalid number
                  While calling 't.insert x':
                    IP: parse error
                    ETH: required argument missing
                  While calling 't.config x':
                    too many arguments
                  While calling 'w.config x':
                    argument 0 should be number of tickets (integer)
                  While calling 'w.config 1, 2':
                    need 1 arguments, one per output port
                  While calling 'a.count_call x':
                    argument to 'count_call' should be 'N HANDLER [VALUE]'
                  While calling 'a.count_call 1':
                    syntax error
                  While calling 'n.count_call x':
                    'count_call' first word should be unsigned (count)
                  While calling 'n.count_call 1':
                    syntax error
                  While calling 'n.byte_count_call x':
                    'byte_count_call' first word should be unsigned (count)
                  While calling 'n.byte_count_call 1 y.z':
                    no element named 'y'
                  While calling 'l.pattern0 x':
                    pattern 0: empty term near 'x'
                    pattern 0: missing expression
                    pattern 0: garbage after expression at 'x'
                  While calling 'l.config x':
                    pattern 0: empty term near 'x'
                    pattern 0: missing expression
                    pattern 0: garbage after expression at 'x'
                  While calling 'p.poshandler y.z':
                    no element named 'y'
                  While calling 'p.sizehandler n.x':
                    no 'n.x' read handler
                  While calling 'p.active x':
                    type mismatch
                  While calling 'r.pattern0 x':
                    input spec 0: unknown specification
                  While calling 'k.config x':
                    pattern 0: expected a digit
                  While calling 'k.config':
                    need 1 arguments, one per output port
                  While calling 'm.config LIMIT x':
                    LIMIT: invalid number
                  While calling 'o.config x':
                    LENGTH: invalid number
                  While calling 'o.config -1':
                    bad length -1
                z.get:
                 u.rate=-1 u.config=-1 u.rate=0 q.capacity=-1 b.thresh=-1 s.config=-1 s.config=-22 s.switch=-22 d.dscp=-1 d.dscp=-22 e.error_kind=-22 e.p_bit_error=-1 i.seed=-1 t.insert=-1 t.config=-1 w.config=-1 w.config=-22 a.count_call=-22 a.count_call=-1 n.count_call=-22 n.count_call=-1 n.byte_count_call=-22 n.byte_count_call=-1 l.pattern0=-1 l.config=-1 p.pos=-1 p.size=-1 p.active=-22 r.pattern0=0 stop=0 k.config=-1 k.config=-22 m.config=-1 o.config=-1 o.config=-22
            "#]],
        );
    }

    #[test]
    fn a_script_that_ends_with_an_error_gives_one_status_however_it_was_called() {
        check(
            "s :: Script(TYPE PASSIVE, label a, error);
            z :: Script(write s.run, set v run=$?, write s.step, set v $v step=$?, write s.goto a, set v $v goto=$?,
                write s.step x, set v $v step=$?, write s.goto x, set v $v goto=$?, read s.run, print $(s.run), read z.get v, stop)",
            expect![[r#"
                While executing 'z :: Script':
                  While calling 's.step x':
                    syntax error
                  While calling 's.goto x':
                    jump to nonexistent label
                s.run:

                z.get:
                run=-1 step=-1 goto=-1 step=-22 goto=-22
            "#]],
        );
    }

    #[test]
    fn endless_loops_are_given_up() {
        check(
            "s :: Script(label a, goto a); Script(wait 1, stop)",
            expect![[r#"
            s :: Script: too many jumps, giving up
        "#]],
        );
    }

    #[test]
    fn errors_stand_below_what_was_going_on() {
        check(
            "Script(write p.go 1, write p.bad, read $(p.name)x, goto end $(nosuch), print x.y, stop);
            p :: Script(TYPE PROXY, goto fail $(eq $0 bad), return, label fail, write n.z, error \"wrong $0\")",
            expect![[r#"
                While executing 'Script@1 :: Script':
                  While calling 'p.bad':
                    expected two numbers
                    bad condition '$(eq $0 bad)'
                  no 'px' read handler
                  no 'nosuch' read handler
                  bad condition '$(nosuch)'
                  no element named 'x'
            "#]],
        );
    }

    #[test]
    fn passive_scripts_answer() {
        check_reading(
            "p :: Script(TYPE PASSIVE, returnq \"$# of $args, first $1, $0 $write\");
            e :: Script(export x 3, exportq y \"a b\", initq z \"1 2\", set x 4);
            Script(read p.run a b, write p.set q 1 2, read p.shift q, read p.get q, read p.get nothing, stop)",
            &["p.run", "e.x", "e.y", "e.run"],
            expect![[r#"
                p.run:
                2 of a b, first a, run false
                p.shift:
                1
                p.get:
                2
                While executing 'Script@3 :: Script':
                  While calling 'p.get nothing':
                    undefined variable 'nothing'
                p.get:

                p.run: 0 of , first , run false
                e.x: 4
                e.y: a b
                e.run: 
            "#]],
        );
    }

    #[test]
    fn steps_go_past_pauses() {
        check(
            "w :: Script(pause 2, read w.now_is one, pause, read w.two, label three, pause 2, read w.three);
            Script(write w.step, write w.step, write w.step 3, write w.goto three, write w.goto four, write w.step x, stop)",
            expect![[r#"
                While executing 'Script@2 :: Script':
                  While calling 'w.step':
                    no 'w.now_is' read handler
                  While calling 'w.step 3':
                    no 'w.two' read handler
                    no 'w.three' read handler
                  While calling 'w.goto four':
                    jump to nonexistent label
                  While calling 'w.step x':
                    syntax error
            "#]],
        );
    }

    #[test]
    fn the_driver_manager_decides_when_to_stop() {
        check(
            "d :: DriverManager(read d.first start, pause, read d.first asked, wait 1s, read d.first later, pause 2);
            Script(wait 0.1, write stop, wait 2, write stop, wait 1, read d.first last, stop)",
            expect![[r#"
                d.first:
                start
                d.first:
                asked
                d.first:
                later
                d.first:
                last
            "#]],
        );
        check(
            "DriverManager(stop); Script(TYPE DRIVER)",
            expect![[r#"
            config:1: While configuring 'Script@2 :: Script':
              router has more than one driver script
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn packets_leave_by_the_output_a_script_returns() {
        check_reading(
            "InfiniteSource(LIMIT 6, STOP true) -> s :: Script(TYPE PACKET, init i 0, set i $(add $i 1),
                goto exit $(eq $i 6), return $(mod $i 2)) -> q0 :: Queue -> Idle; s[1] -> q1 :: Queue -> Idle;",
            &["q0.length", "q1.length"],
            expect![[r#"
                q0.length: 2
                q1.length: 3
            "#]],
        );
    }

    #[test]
    fn a_script_may_ask_the_element_that_calls_it() {
        check(
            "InfiniteSource(LIMIT 20, STOP true) -> c :: Counter(COUNT_CALL 10 s.run) -> d :: Counter -> Discard;
            s :: Script(TYPE PASSIVE, read c.count, read d.count)",
            expect![[r#"
                c.count:
                10
                d.count:
                9
            "#]],
        );
    }

    #[test]
    fn nothing_happens_after_stop_however_much_is_due() {
        let before = "Script(wait 1s);".repeat(70);
        check(
            &format!("x :: Script(export a 1, export b 2); {before} Script(wait 1s, read x.a, stop); Script(wait 1s, read x.b)"),
            expect![[r#"
                x.a:
                1
            "#]],
        );
    }

    #[test]
    fn an_element_keeps_its_configuration_while_it_is_busy() {
        check(
            "RandomSource(60, LIMIT 1) -> Queue -> Script(TYPE PACKET, write p.config 5, return 0)
             -> p :: Paint(1) -> Unqueue -> Discard;
             Script(wait 1s, read p.color, read p.config, stop)",
            expect![[r#"
                While executing 'Script@3 :: Script':
                  While calling 'p.config 5':
                    element is busy
                p.color:
                1
                p.config:
                1
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Script(foo, wait 1 2, set x, goto zz); Script(TYPE BAD); Idle -> Script(TYPE PASSIVE) -> Discard;
            Script(TYPE PACKET); Script(TYPE SIGNAL ZZ)",
            expect![[r#"
                config:1: While configuring 'Script@4 :: Script':
                  ports allowed only on PACKET scripts
                config:1: While configuring 'Script@2 :: Script':
                  bad TYPE
                config:1: While configuring 'Script@1 :: Script':
                  syntax error at 'foo'
                  syntax error at 'set'
                  no such label 'zz'
                config:2: While configuring 'Script@6 :: Script':
                  PACKET script must have inputs
                config:2: While configuring 'Script@7 :: Script':
                  bad signal number
                Router could not be initialized!
            "#]],
        );
        check(
            "Script(wait x); Script(wait 1, stop)",
            expect![[r#"
            config:1: While initializing 'Script@1 :: Script':
              syntax error at 'wait'
        "#]],
        );
    }
}
