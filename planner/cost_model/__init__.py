"""The papers' equations: volumes over rates, phase by phase, with money, capacity and fixed costs."""
