"""Clusters emulated on this machine: nodes as network namespaces whose links are capped, after Uta and Obaseki."""
