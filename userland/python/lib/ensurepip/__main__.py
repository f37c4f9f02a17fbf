import ensurepip

ensurepip.bootstrap()
