# packages: matplotlib
"""A figure with subplots, saved as PNG and SVG; what the files are."""
import struct
import xml.etree.ElementTree as ET

import matplotlib
import matplotlib.pyplot as plt
import numpy as np

x = np.linspace(0, 6.28, 50)
figure, axes = plt.subplots(1, 3, figsize=(6, 2), dpi=100)
axes[0].plot(x, np.sin(x), label="sin")
axes[0].legend()
axes[1].bar(["a", "b"], [3, 5], color="tab:orange")
axes[2].hist([1, 2, 2, 3, 3, 3], bins=3)
figure.suptitle("Three plots")
figure.savefig("plot.png")
figure.savefig("plot.svg")
data = open("plot.png", "rb").read()
print(data[:8], struct.unpack(">II", data[16:24]), len(data) > 5000)
root = ET.parse("plot.svg").getroot()
print(root.tag, root.get("width"), len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 20)
image = plt.imread("plot.png")
print(image.shape, len(np.unique(image.reshape(-1, 4), axis=0)) > 10, matplotlib.get_backend().lower())
plt.show()
plt.close("all")
print(plt.get_fignums())
