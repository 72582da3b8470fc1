"""Ray on the nodes of a cluster: starting its processes, and the session that drives them."""
