"""How far the sim arm is from real kernels: the tables of docs/evidence/fidelity.md."""
