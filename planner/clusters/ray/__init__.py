"""Ray on the nodes of a cluster: how its processes start, and the session that drives them."""
