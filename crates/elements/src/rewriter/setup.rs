//! The life of a rewriter: from its arguments to the flows it leaves to its successor.

use args::ElementName;
use element::{Configure, Ctx, Failed, TimerId};

use super::base::{now_ms, Base, Kind};
use super::flow_set::Shared;
use super::input::{Action, Input};
use super::ip_rewriter_patterns::IPRewriterPatterns;
use super::settings::Settings;
use super::{mappers, rewriters};

impl Base {
    /// Reads the arguments in Click's order.
    pub fn configure(kind: Kind, mut conf: &mut Configure<'_>) -> Result<Base, Failed> {
        let settings = Settings::read(kind, conf)?;
        let set = Shared::new();
        let mut shares_with = None;
        if let Some(ElementName(word)) = &settings.capacity {
            let other = conf.environment.find(word, conf.element);
            if let Ok(capacity) = args::integer(word) {
                set.lock().capacity = capacity;
            } else if let Some(idx) = other.filter(|idx| rewriters::is_one(conf.environment.class(*idx))) {
                shares_with = Some(idx).filter(|idx| *idx != conf.element);
            } else {
                return Err("bad MAPPING_CAPACITY".into());
            }
        }
        let specifications = conf.args.rest();
        if specifications.len() != conf.n_inputs {
            return Err(format!("need {} arguments, one per input port", conf.n_inputs).into());
        }
        let n_outputs = conf.n_outputs;
        let mut inputs = Vec::new();
        for (number, text) in specifications.iter().enumerate() {
            match Input::parse(text, n_outputs, &mut conf) {
                Ok(input) => inputs.push(input),
                Err(message) => conf.error(format!("input spec {number}: {message}")),
            }
        }
        conf.finish()?;
        Ok(Base {
            kind,
            set,
            inputs,
            spaces: [0; 2],
            first_owner: 0,
            n_outputs,
            annotations: settings.annotations,
            timeouts: settings.timeouts,
            shares_with,
            reap_ns: i64::from(settings.reap_s) * 1_000_000_000,
            timer: None,
            seen: Vec::new(),
            n_reads: 0,
            verdicts: Vec::new(),
        })
    }

    /// Joins the flow set, finds named patterns and mappers, and begins to reap.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(idx) = self.shares_with {
            if let Some(set) = rewriters::with(ctx, idx, |base, _| base.set.clone()) {
                self.set = set;
            }
        }
        self.join()?;
        let mut errors = Vec::new();
        for number in 0..self.inputs.len() {
            self.connect(ctx, number, &mut errors);
        }
        let timer = ctx.new_timer();
        if self.reap_ns > 0 {
            ctx.schedule_after(timer, self.reap_ns);
        }
        self.timer = Some(timer);
        if errors.is_empty() {
            Ok(())
        } else {
            Err(errors.join("\n"))
        }
    }

    fn join(&mut self) -> Result<(), String> {
        let mut set = self.set.lock();
        let spaces = [set.add_space(self.timeouts[0]), set.add_space(self.timeouts[1])];
        let [Some(first), Some(second)] = spaces else {
            return Err("too many rewriters share a flow set".to_string());
        };
        self.spaces = [first, second];
        self.first_owner = set.add_owners(self.inputs.len());
        Ok(())
    }

    /// Shares the pattern of an input with its other users, or introduces the rewriter to its mapper.
    fn connect(&mut self, ctx: &mut Ctx<'_>, number: usize, errors: &mut Vec<String>) {
        let n_outputs = self.n_outputs;
        let Some(input) = self.inputs.get_mut(number) else { return };
        if let Some((element, argument)) = input.named.take() {
            let shared = ctx.with(element, |patterns: &mut IPRewriterPatterns, _| patterns.at(argument));
            if let Some(pattern) = shared.flatten() {
                input.action = Action::Pattern(pattern);
            }
        }
        if let Action::Mapper(idx) = input.action {
            let declaration = ctx.declaration(idx);
            for pattern in mappers::out_of_range(ctx, idx, n_outputs) {
                errors.push(format!(
                    "input spec {number}: output port out of range in {declaration} pattern {pattern}"
                ));
            }
        }
    }

    /// Removes what has expired.
    pub fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.set.lock().shrink(now_ms(ctx));
        if self.reap_ns > 0 {
            ctx.reschedule_after(timer, self.reap_ns);
        }
    }

    /// Takes over the flows of a predecessor whose inputs and outputs this one has too.
    pub fn take_state(&mut self, ctx: &mut Ctx<'_>, old: &Base) {
        if old.kind != self.kind {
            return;
        }
        for (input, old) in self.inputs.iter_mut().zip(&old.inputs) {
            input.failures = old.failures;
            if let (Action::Pattern(own), Action::Pattern(old)) = (&input.action, &old.action) {
                own.go_on_from(old);
            }
        }
        let (n_inputs, n_outputs) = (self.inputs.len() as u32, self.n_outputs);
        let (owner, spaces) = (self.first_owner, self.spaces);
        // Both may use the same set, which others use, too.
        let flows = old.set.lock().take_out(old.first_owner..old.first_owner + old.inputs.len() as u32);
        self.set.lock().take_over(
            flows,
            |flow| {
                let input = flow.owner.checked_sub(old.first_owner)?;
                let map = old.spaces.iter().position(|space| *space == flow.space)?;
                let has_outputs = flow.outputs.iter().all(|output| usize::from(*output) < n_outputs);
                (input < n_inputs && has_outputs).then_some((owner + input, spaces[map]))
            },
            now_ms(ctx),
        );
    }
}
