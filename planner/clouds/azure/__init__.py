"""Azure: virtual machines of a subscription, by its SDKs azure-mgmt-compute, -network and -resource (extra `azure`)."""
