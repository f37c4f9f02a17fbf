"""What a distribution's METADATA says, for installed ones, wheels and those of an index alike."""
from ._vendor.packaging.requirements import InvalidRequirement, Requirement


def requirements_of(metadata):
    """What it needs; a line that no tool could read is left out."""
    found = []
    for text in metadata.get_all("Requires-Dist") or []:
        try:
            found.append(Requirement(text))
        except InvalidRequirement:
            pass
    return found
