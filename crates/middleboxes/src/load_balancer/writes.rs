//! What is written to the balancer's handlers.

use element::Ctx;

use super::backends::Health;
use super::{reports, settings, LoadBalancer};

impl LoadBalancer {
    /// Adds backends, and their service if need be.
    pub(super) fn add(&mut self, ctx: &mut Ctx<'_>, text: &str) -> Result<(), String> {
        let words = args::split_words(text);
        let scope = ctx.scope();
        let [place, backends @ ..] = words.as_slice() else {
            return Err("expected 'SERVICE BACKEND...'".to_string());
        };
        let place = settings::place(place, &scope)?;
        // All are read before any is added.
        let read = |word: &String| settings::backend(word, 0, &place, &scope);
        let backends = backends.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        // All are added or none.
        let mut pool = self.pool.clone();
        let service = pool.add_service(place)?;
        for mut backend in backends {
            backend.service = service;
            pool.add_backend(backend)?;
        }
        self.pool = pool;
        Ok(())
    }

    /// Changes backends, as the handler of this name does.
    pub(super) fn change(&mut self, ctx: &mut Ctx<'_>, name: &str, text: &str) -> Result<(), String> {
        let (numbers, words) = reports::named(text, &self.pool, &ctx.scope())?;
        let (health, weight) = match (name, words.as_slice()) {
            ("health", words) => (Some(reports::health(words)?), None),
            ("weight", [word]) => (None, Some(settings::weight(word)?)),
            ("remove", []) => (Some(Health::Removed), None),
            ("weight", _) => return Err("expected '[SERVICE] BACKEND N'".to_string()),
            _ => return Err("expected '[SERVICE] BACKEND'".to_string()),
        };
        for number in numbers {
            if let Some(backend) = self.pool.get_mut(number) {
                // What is to be removed stays so until it is added again.
                let is_removed = backend.health == Health::Removed;
                backend.health = health.filter(|_| !is_removed).unwrap_or(backend.health);
                backend.weight = weight.unwrap_or(backend.weight);
            }
            self.pool.forget_if_done(number);
        }
        Ok(())
    }

    /// Ends all connections.
    pub(super) fn flush(&mut self) {
        let all: Vec<u32> = self.connections.iter().map(|(idx, ..)| idx).collect();
        all.into_iter().for_each(|idx| self.end(idx));
    }

    /// Sets the backends' counts to 0.
    pub(super) fn reset_counts(&mut self) {
        let all: Vec<u16> = self.pool.iter().map(|(number, _)| number).collect();
        for number in all {
            if let Some(backend) = self.pool.get_mut(number) {
                (backend.n_connections, backend.counts) = (0, [(0, 0); 2]);
            }
        }
    }
}
