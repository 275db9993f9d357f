//! What an element is: traits, facts, context and the test harness.
