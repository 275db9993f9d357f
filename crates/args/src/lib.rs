//! Element arguments: splitting a configuration string and parsing typed values.
