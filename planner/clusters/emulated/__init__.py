"""Clusters emulated on this machine: nodes are network namespaces whose links are capped, after Uta and Obaseki."""
