# SPDX-License-Identifier: GPL-2.0-or-later
# ---- packages: of the source, of the program for any Linux, of Debian and Ubuntu ---------------------
VERSION    = $(shell scripts/version.sh)
PACKAGES  := $(B)/packages
# A package is for the machine that it is built on.
MACHINE   := $(shell uname -m)
BINARY     = gpuprobe-$(VERSION)-$(MACHINE)
# The same source gives the same bytes.
TAR       := tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(shell scripts/source-date.sh)

.PHONY: dist
dist: ## build build/packages/gpuprobe-VERSION.tar.gz: the source, which knows its version
	$(call say,DIST,$(PACKAGES)/gpuprobe-$(VERSION).tar.gz)
	$(Q)rm -rf $(PACKAGES)/gpuprobe-$(VERSION) && mkdir -p $(PACKAGES)/gpuprobe-$(VERSION)
	$(Q)scripts/source-files.sh | tar -c --null -T - | tar -x -C $(PACKAGES)/gpuprobe-$(VERSION)
	$(Q)echo $(VERSION) >$(PACKAGES)/gpuprobe-$(VERSION)/VERSION
	$(Q)$(TAR) -C $(PACKAGES) -c gpuprobe-$(VERSION) | gzip -9n >$(PACKAGES)/gpuprobe-$(VERSION).tar.gz
	$(Q)rm -rf $(PACKAGES)/gpuprobe-$(VERSION)

# To be unpacked anywhere, /usr/local for instance: tar -C /usr/local --strip-components=1 -xf
.PHONY: tarball
tarball: ## build build/packages/gpuprobe-VERSION-x86_64.tar.gz: what `make install` installs
	$(Q)rm -rf $(PACKAGES)/$(BINARY) && mkdir -p $(PACKAGES)
	$(Q)$(SUBMAKE) install DESTDIR=$(abspath $(PACKAGES))/$(BINARY) PREFIX=
	$(call say,TAR,$(PACKAGES)/$(BINARY).tar.gz)
	$(Q)$(TAR) -C $(PACKAGES) -c $(BINARY) | gzip -9n >$(PACKAGES)/$(BINARY).tar.gz
	$(Q)rm -rf $(PACKAGES)/$(BINARY)

.PHONY: deb
deb: ## build build/packages/gpuprobe_VERSION_amd64.deb for the release of Debian or Ubuntu that this is
	$(Q)scripts/deps.sh build package
	$(Q)$(SUBMAKE) dist
	$(Q)scripts/deb.sh $(PACKAGES) $(VERSION)

.PHONY: check-packages
check-packages: ## build, install, use and remove the packages in bare chroots of Debian 12 and 13 (root)
	$(Q)scripts/deps.sh package
	$(Q)tests/package/run_releases bookworm trixie
