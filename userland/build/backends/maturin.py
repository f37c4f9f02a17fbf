"""What pip asks of a source archive's build tool before it hands the archive out: the metadata, which the archive itself has.

It stands in for the real tool (sources.py), which would be fetched, and would ask for all crates, to say the same.
"""
import email
import os
import shutil


def prepare_metadata_for_build_wheel(folder, config_settings=None):
    with open("PKG-INFO", encoding="utf-8") as file:
        about = email.message_from_file(file)
    info = f"{about['Name'].replace('-', '_')}-{about['Version']}.dist-info"
    os.mkdir(os.path.join(folder, info))
    shutil.copy("PKG-INFO", os.path.join(folder, info, "METADATA"))
    return info
