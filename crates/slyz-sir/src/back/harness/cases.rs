//! Inputs that both sides can make, and what the interpreter makes of them.
