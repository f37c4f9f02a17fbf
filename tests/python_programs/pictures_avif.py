# packages: pillow
"""AVIF as Pillow reads and writes it: subsamplings, ranges, alpha, metadata, turns, animations, what fails."""
import base64
import hashlib
import io

from PIL import AvifImagePlugin, Image, ImageChops, ImageDraw, ImageStat, features

MADE = {  # by native Pillow 13.0.0, of scene()
    "4:4:4":
        '0000WW^{RQVRmU|00000VRmU|ZE0pPZE0a<O+hh10002%ZDn*}000000000XXk=`10000000000aA{+7000000000000000000004sdC7Z2$lO000310016o'
        'Y;R)#0000)000310RR910RR926951L7XSbNC~0YKW&i*H00031000_kZf0cy000000RRADb}%tRZ)|UJ00000YH4tCZ~y=ROKEUpZvX%Q6lrsCWdHyG00000'
        'U;qFBKmY&$5O8UDX#fBK00RgJ2mk;83}JRLLxCUw000006Ju{|a&BX6cmM$a4FCp!0000NX>e^}0000000001009I60)qqq00JLvWMOm?0162>8E^j50vZh<'
        'GKT~c!7+kiB$7#$Ra64ml-HDBL?1*|DXU3Vq-u3i&!21f=OEJqATC@rP=4xt=V3@=B>G&B`-42r+MR0;UIquTwPp|5TTPgBQR|FS354_raN$E{kkQ8P*;Lev'
        'SM_WDdve8NmLEA=kA!t%H>@`}{?)~;Ok;#g;-9ipil0UrMS-4FJ6A$=s?!0eJgq5~T3cB?xrSnUSLds#IWt)7Cd&Qpp}O}#khJn_Z>TK)|0&qR$0cJN2t3!8'
        'lvfSaezNjW4H)V&yHqT^XGsZ`iET{%R8_+xn%8rCf9C{X7}|CK+ZBRYeusoBL-AX3?`Q!Vfaj?@(=e!x6U;nD+G{JGJ8-L7iW}MzIk+4gZf3M4iH=}Xw#3w('
        '_D;tyk7x*~Nlgwz(2BIr=MM=k!0!dX=OT@_8MS8BdWddVkznN!Ei{1f2IDY2Q3(c9D%)@4jp^~PRiRZdj)xknh$|+2U1mmk4q!U#%)5IOHwDZ&C`xJi{y$zH'
        'N}KoWp01iYO!?$LTp{~88kmRw3Bua%jweJ)84zkYZ|$HL5vGBi3b1ZAvTA(;HEbIyFyFOHHm2o5vhoEmTcdi&c^s$Bh+Zj1IV@7|&QaUDt%^=%I|VZSt9?7~'
        '7f5rMqfSMIZoFD+m`zjQSE-T`Mvk{Pice)+V|8l-#eqP)XkT&8?mz',
    "4:2:0":
        '0000WW^{RQVRmU|00000VRmU|ZE0pPZE0a<O+hh20002%ZDn*}000000000XXk=`10000000000aA{+7000000000000000000004sdC7Z2$lO000310016o'
        'Y;R)#0000)000310RR910RR926951K(f|MeC~0YKW&i*H00031000_kZf0cy000000RRADb}%tRZ)|UJ00000YH4tCZ~y=ROKEUpZvX%Q6lrsCWdHyG00000'
        'U;qFBKmY&$5O8UDX#fBK00RgJ2mk;83}JRLLxBJc000006Ju{|a&BX6cmM$a4FCp!0000NX>e^}0000000001009I60)qqq00G)<WMOm?0162h8E^j40SyL('
        'GQtBB!^6W6!bv2PDxfF?*_79mp6-Xy6-sK*y_oy7oWSDUk6hUbb5X`?QPOtZqI+0m1ZMU#hY<|8CRLi;t(g!sOFdZ|*9cBHCj}eWk=|;U=Rr)FAEG$k{Z@=?'
        '^$L9rsw|Y~*6${icbm(_=S*awOq?XTt??9seOMli&nJ{~;n4Pidk!{Qc{WFMeJ^T#CKfVZ2pV=U@yS&h$a_rLucF^0X1;SPgqQ$(a$J>1>NWVXY>I!R^u-kv'
        '5m2xS=)6JB!y_oiZ(Up@sw>^ahNILS1Wd{VCZa-7L4ot42SEp{NOICK1<Gae&yDlL<pRKsRV&Z<%W#qg3MlwEnuD?UI1h>sjSvrHD@(566JB}dqPMYuORmjj'
        ')?4vsRRUYglk!(sYOWxxne}y;*DbSdsGoar9mDX5AEK1g_56OkJ}5a4_Bs+cGKbl&HJsCl52`GU3o{0?pC>>eBluhW-1Jo?+~vY!hIb-RTYO!g$0}P`u%;-A'
        'nzY`MoTH71BOb-Gnem&V$uQ~I6Bjf$(SO`Lr&>Q)TQJW3u-%AB^~wc_9vmqK9SiDt8mZl5UvTQsV!<6Bv_7UtAO',
    "limited":
        '0000SW^{RQVRmU|00000VRmU|ZE0pPZE0a<0002%ZDn*}000000000XXk=`10000000000aA{+7000000000000000000004sdC7Z2$lO000310016oY;R)#'
        '0000)000310RR910RR924*&oG;{X5vC~0YKW&i*H00031000_kZf0cy000000RRADb}%tRZ)|UJ00000YH4tCZ~y=ROKEUpZvX%Q6lrsCWdHyG00000U;qFB'
        'KmY&$5O8UDX#fBK00RgJ2mk;83}JRLLxDgD000006Ju{|a&BX6cmM$a4FCoJ0000NX>e^}0000000001009I60)qqq00HZ5WMOm?0163M8E^j40SyKaGSdSS'
        '!3~IEB$7#$RTTo+l-A{^#EntP@`<APsSv07Fnqs|;|^EQUuKR+34G=?`<TkIQ0nnAH2+vaU53~wG4(#GR!)uen<v1aS9=9Oe|QwK3j2eNtk(UK`avhbI`N`1'
        'pn)ge7Rf4qjglWel2b=w6r@q`ckp@r5`1kd5OsI!IXC&=kcd+xM114t*tB1lZVxz`=)#$KO9YZcq<D+T*6}~_xH6G#46~N}Qf2rmA0vJF2grh}kLn*TC%qz^'
        'H9ogmsUs?e$1^-P!C#P45%ue;syz343Y7C8$WYscdrejbPsdD(s2?g*GLLIa#ex#7-SzeYVBq2I!2MDmS#~Mdro!O5We!j{JCgQtR;7`|R_)b)0>>bl-;;dK'
        '{5w3cPs4tTyWd`mGM0839x5BwESC6KIZ%DkupLzoed`&!T|i$f=J8<M(x}g@)^D2ny;R$h#+>B?4nPB>(GjX+2!iD3bpMIFnR15JySQ`_xvR$iqkbH_H*@b#'
        'KWRx2+k@>jdj}RGVB3FtzkG~jc8!Vrxq+2o5eFIE1Y7?hf`G3-&4PPNmM<pfB}C(QBeckEnM>2(5`k9(bUGU;2*QjqR!aQKQJ4)VNPq',
    "gray":
        '0000SW^{RQVRmU|00000VRmU|ZE0pPZE0a<0002#ZDn*}000000000XXk=`10000000000aA{+7000000000000000000004sdC7Z2$lO000310016oY;R)#'
        '0000)000310RR910RR924FCWD?EnA(C~0YKW&i*H00031000_kZf0cy000000RRADb}%tRZ)|UJ00000XlZbAZ~y=RNojCnZvX%Q6lrsCWdHyG00000U;qFB'
        'KmY&$4sdCBX#fBK009U9000bOb}>VN02}}S000wXZ)|dIV{CW;0RRmE27mwn02gU+ZD9Za00000009621OWnr1ONa4^=)KfbP@mx2^bk~{?h>s2B0$C0TaUz'
        '!bvi!1lg3<>SL8k@okGJPyV({e9!sIU;W~Ly0Vu@;l9F2rV|t&N3RP)P@G=A=vaKG2@E?%{G;s2-`}|~xvuTEsBtpo4D^`cH#n@Ro3OQT{EeG_r3&h~qNw<K'
        '3G1-7dqS0I?=rvxko$fLryw!@OWe@alteK^2nmPbwm_MpNsI?vg0FhfR-6&;#k}?HD|0W%yTga*8MTp~GC%tO*L8E!UrvY5y(}bIi)wnB*v_Ot>H0=eZLWcp'
        '?NpHRFah&@R77VVCxHlslpYFVsbHn>Nni',
    "alpha":
        '0000WW^{RQVRmU|00000VRmU|ZE0pPZE0a<O+hh20004oZDn*}000000000XXk=`10000000000aA{+7000000000000000000004sdC7Z2$lO00031001m$'
        'Y;R)#0000)000620RR910RR93)Bpeh(f|Sg0003100FK500AZd002U1X>Mi!000000ssI28fk83WdZ;I000310AY48F+*=`Z*l+t000_kZf0cy000000ssJE'
        'b}%tPY;b5{000008fkK6W&i*H000004q<h8YybiP0RRC2006^jaB^?}005n7aAR)(000zeb8uw<00000003YB002M$000nhX?SS>000032nYxO000bOb}>VN'
        '01N;C000wXZ)|dIV{CW;0RRmE27mwn01j|zcxeCt000390000CVRkV?fdCu;0000uVRd*z00000b#iVxZE$60I&E-eXF@t-X=89Yb9r-gWo>ghVRd+EY-wR~'
        'c{*WiaA;uw0000UX>e^}0000000002009I60)qqq0t5jCh6exu0|0GgVRRAz3I-S%Z~nrdGMNGsAPg{|*a<JiTtV#2UFk3X{Umnu)Z@dhH5|tbr~m)}Ji<iu'
        'nP%<vg+JQ0bsHz)iQ~Sfw4(m*+S+1tmC{~}$;m10u>$RhlC&HN)EkMr=o$Qx7^0S|`~UA>$*Lk!VfhWu92d(nVkZfJ9ptw<xVk%_q@4hCzW}?b#8(cve4E`b'
        'zFL=$M9M-IOF8ow@+tn_Xj5OGCOaYqrOLiP2`5tceGM$Y2@FT4Xv6IV4(U!<7%$QNDZrMd4Mjvk5RYi|RCA^v96>2GEE)`kBI6xI{kD3Oo$iuJ5ctt3>ub>z'
        '?V76?=j_3;xzp-O5@71GH10Xb932>#7|IY;#smjJQ1#+p5U?p*3^Pmjqm{O({S*hW5&#Mb7#VN=(E$wxgfhYd6T`#95W-0$lPaJn1lg3=l%DQ~(G^N+(7l-Z'
        'w4A`=-H%+^3Ug7$Yf;j6-J*L~WCUjRGlvljxF%Ja+^v}qG)p~M8`lU<I41=g*pc39nCC%EnIED!-u+gLYxN3!4XP}Z=+^Hhly{rU#pg_9p-h}4x~=gPf_+#X'
        'jn5~PbK%hTf_n}&T6s1{bbT*seI^z%UkDm@F!9M%8pwN0*{`DCBWAvHD}<N;dvaWrN9r~BvTTZfr1ZrV6cJFc3h2B+&ch=p$8TL+B&sXj#fGEQ9Ry6u1SX<F'
        'Q9*(8q6a|-tVnXwF$KzH^3RR)!{q|Nja4hp_{(sT1_~(nIGTg8_&5)W4~-BHWGhRq;1gbX=AyT;flIE<W!78qXH^1Q%#-q0SZb~yteN$7nAa_{Zm6GoaUH|('
        'h##Vq)Ajs*ygn#75B53|I5LOXt~H#~i4UqQjSDjdvY#hFAtU%({oM3bCEVr0V}^GkP+NRmpT{a&Sg@ujikh_ElANQBh$9}wvzhUmqRBAn*b^5tH_?CGJf~Ve'
        'SX(g8{jlALN%hJFi5?s&1|19Pc^awRV_$IU&|<+IAGAKENFV',
    "frames":
        '0000iW^{RQVRmVA00000VRmU|VRmVAZF6QZX>)HlZE0pPZE0a<O+hh20002%ZDn*}000000000XXk=`10000000000aA{+7000000000000000000004sdC7'
        'Z2$lO000310016oY;R)#0000)000310RR910RR94`2YX_>i_@%C~0YKW&i*H00031000_kZf0cy000000RRADb}%tRZ)|UJ00000YH4tCZ~y=ROKEUpZvX%Q'
        '6lrsCWdHyG00000U;qFBKmY&$5O8UDX#fBK00RgJ2mk;83}JRLLxBJc000006Ju{|a&BX6cmM$a4FCp!0000NX>e^}0000000001009I60)qqq00P==Z*O)0'
        '004Mxc4%Y)000000002zE&$d50002zE&$d500Zd%|NsC0|Ns900RR920000000000000000RR910000000000000000RR9100000000000000$0000000000'
        '00000000000000000000000000003100LTca$#!#003xoYiMKv000310002zE&$d50002zE&$d50003100030|NsC0|Ns90000000000000000000000RR91'
        '0000000000000000RR9100000000000000$00000U;qFBKmY&$001myWOQ=?001OqY;$x000031000310000000LM500000000000RR9100F*jWNBdl001m)'
        'WN2go000000002zE&$d50002zE&$d500Za%0000000LN5!~g&Q001FqWNdN(000000001RX=8K%0000000000000000004LZE0?10000Kc5P^60000100000'
        '000000000aWNB_@0000SWO8L@00000000010000Cb#iPV000010003gb97>C0001$b98fL00000000010001mVRkSv000000000100000000000000000000'
        '0AK(>07w7;07w7;00000009a?PfZ|0Z)9n1X8-^I000000000000000000000000O|Nj6001RPvF++g>3;+NC025<xY;ta6Y<K_x01W^JfB*mh5MyI=bN~PV'
        '0DJ%d00000D06gla{vGU000000{{R30RR91WB>pF0RR91$N&HU0RR92EC2ui9CLJYV*mgE000000RR910RR910{{R30RR91AaitcdH?_b00000000000{{R3'
        '>i_@%%m4rY%K!iX6mxWAZvX%Q000000RR94`2YX_6mxWQa{vGU000000RR910RR93ifv?JbP@mx4FCWD11<l}uaN-_281%#0T2MCfK^tQ6kTN4Esvy+x!GBq'
        '_k|>t(_VUkB(f;xZGL=(o6bIYM1k^~|MV*S(G-wuJj(w!WXAytc)xAog+kdl7^CV>MVPh=hC{O1@UWWmtUu@_;Owj*YMCF}7#CF;=2ySck*ME``0i#Jd2K<V'
        'Z}DghrcT>!J~*C~eqW2WcF6h87_1uRIx#dua4cf0cd3Ee>@(o0hTnWXIA~yYarl+@HslBve#jK3|N0_=wx*N8dq7$UqgQ68@&)7SgM0EHDt-(R2@n!*+V{(R'
        '(gpqG5&$yC0Wbr=fB*mnrNEL!@DyEj0N4GGgxRs(1~4T|vACs4Uq5p*-Ng|QG<2!4Rd=T@yZJZ^9%w7b=RXV&4abWpivR2eHY#QPfwPq^EX>;+?oR}b$*yMa'
        '#~habjFt4$1nD7h#S<VN$VT~#!LPxV>?raGKivhIjSoK+Bq!2^==YUkhdX;e+Scvz9x}W3;?B#u0b!%O+p!_w6f@i+7`QXI!aoC!3MEr(T)PY&Mzy^?mzLq;'
        'oe}6pk{aOB=FTLC_U<EK5&$yB0Wbx@1ONaArT|GPvlLx%0NUQU>WTUHt2%eYy^PZb9+mf7Dl$0bE(^UEoHUn8saI}`!M#2WW!N<9g&t`>$muq+4mD)#5b$gH'
        'DZ=Dy5bq@U+~U=RtkLK72cBbeAoiuip{8)?*TMyfMU|+zO7Tm$_ZYom=@b%}3f`~2b{)bM>ULBHj-(8W^oQDdxOKlec*;O-0bIlJK7?OFinrVIK9WYOOj(TQ'
        '+eCimF~X$V(@ar_(@LooAlks^(47DP3EE%',
}
PLACES = (0, 0), (40, 30), (95, 63)
PIXELS = {  # what it reads there; conversions of colours are rounded in more than one way
    "4:4:4": [1, 254, 0, 200, 30, 90, 251, 3, 0],
    "4:2:0": [6, 252, 0, 200, 30, 90, 250, 3, 1],
    "limited": [4, 252, 1, 199, 30, 89, 249, 4, 0],
    "gray": [150, 88, 77],
    "alpha": [6, 252, 0, 3, 200, 30, 90, 255, 250, 3, 1, 252],
    "frames": [7, 249, 0, 200, 30, 92, 247, 7, 0],
}


def scene(mode="RGB", size=(96, 64)):
    across = Image.linear_gradient("L").resize(size)
    bands = [across, across.rotate(180), across.rotate(90).resize(size)] + ([across] if mode == "RGBA" else [])
    picture = Image.merge(mode, bands)
    ImageDraw.Draw(picture).ellipse((20, 10, 60, 50), fill=(200, 30, 90, 255)[:len(bands)])
    return picture


def encoded(picture, **settings):
    file = io.BytesIO()
    picture.save(file, "AVIF", **settings)
    return file.getvalue()


def opened(data):
    picture = Image.open(io.BytesIO(data))
    picture.load()
    return picture


def near(a, b, most=16):
    return max(ImageStat.Stat(ImageChops.difference(a.convert("RGB"), b.convert("RGB"))).rms) <= most


def fails(label, action):
    try:
        action()
    except Exception as problem:
        print(label, type(problem).__name__, problem)
    else:
        print(label, "works")


print(features.check("avif"), AvifImagePlugin.SUPPORTED)
print("-- files of a native encoder")
for name, text in MADE.items():
    back = opened(base64.b85decode(text))
    print(name, back.format, back.mode, back.size, back.n_frames, sorted(back.info))
    there = [value for place in PLACES for value in (back.getpixel(place) if back.mode != "L" else [back.getpixel(place)])]
    print(near(back, scene().convert(back.mode)), max(abs(a - b) for a, b in zip(there, PIXELS[name], strict=True)) <= 3)
back = opened(base64.b85decode(MADE["gray"]))
print(hashlib.sha256(back.tobytes()).hexdigest()[:16])
back = opened(base64.b85decode(MADE["alpha"]))
print(hashlib.sha256(back.getchannel("A").tobytes()).hexdigest()[:16])
back = opened(base64.b85decode(MADE["frames"]))
for number in (0, 2, 1, 0):
    back.seek(number)
    back.load()
    print(number, back.tell(), back.info["timestamp"], back.info["duration"], near(back, scene().rotate(90 * number)))
fails("beyond", lambda: back.seek(3))
print("-- modes")
for mode in ("RGB", "RGBA", "L", "LA", "P", "1", "CMYK", "I;16"):
    picture = scene("RGBA").convert(mode) if mode == "RGBA" else scene().convert(mode) if mode != "I;16" else scene().convert("I").convert(mode)
    back = opened(encoded(picture, quality=90, speed=8))
    print(mode, back.mode, back.size)
print("-- settings")
for settings in ({"subsampling": "4:4:4"}, {"subsampling": "4:2:2"}, {"range": "limited"}, {"quality": 100, "subsampling": "4:4:4"},
                 {"speed": 10}, {"speed": -3}, {"speed": 99}, {"codec": "aom"}, {"tile_rows": 1, "tile_cols": 2}, {"autotiling": False},
                 {"max_threads": 1}, {"advanced": {"aq-mode": "1"}}, {"advanced": [("tune", "psnr")]}):
    back = opened(encoded(scene(), **({"quality": 90, "speed": 8} | settings)))
    print(settings, back.mode, near(back, scene()))
sizes = [len(encoded(scene(), quality=quality, speed=8)) for quality in (0, 40, 80, 100)]
print(sizes == sorted(sizes), sizes[0] < 900, sizes[-1] > sizes[0])
back = opened(encoded(scene("RGBA"), quality=95, speed=8))
print(back.mode, near(back.getchannel("A"), scene("RGBA").getchannel("A")))
print(opened(encoded(scene("RGBA"), alpha_premultiplied=True, speed=8)).mode)
print("-- what goes along")
exif = Image.Exif()
exif[0x010E] = "a picture"
back = opened(encoded(scene(), exif=exif, icc_profile=b"profile" * 20, xmp="<x/>", speed=9))
print(back.info["icc_profile"] == b"profile" * 20, dict(back.getexif()), back.info["xmp"])
for turn in range(1, 9):
    exif = Image.Exif()
    exif[0x0112] = turn
    back = opened(encoded(scene(size=(20, 10)), exif=exif, speed=10))
    print(turn, back.getexif().get(0x0112), back.size)
print("-- animations")
frames = [scene("RGBA").rotate(angle) for angle in range(0, 100, 20)]
back = opened(encoded(frames[0], save_all=True, append_images=frames[1:], duration=[100 + i for i in range(5)], speed=9))
print(back.n_frames, back.is_animated, back.mode)
for number in (0, 1, 4, 2):
    back.seek(number)
    back.load()
    print(number, back.info["timestamp"], back.info["duration"], near(back, frames[number], 48))
print("-- files")
scene().save("a.avif")
with Image.open("a.avif") as picture:
    print(picture.format, picture.size, picture.copy().resize((10, 10)).size, Image.MIME[picture.format])
print("-- broken")
data = encoded(scene(), speed=9)
fails("cut", lambda: opened(data[:-20]))
fails("head", lambda: AvifImagePlugin._avif.AvifDecoder(data[:100], "auto", 1))
fails("none", lambda: AvifImagePlugin._avif.AvifDecoder(b"", "auto", 1))
fails("frame", lambda: AvifImagePlugin._avif.AvifDecoder(data, "auto", 1).get_frame(3))
fails("quality", lambda: encoded(scene(), quality=101))
fails("subsampling", lambda: encoded(scene(), subsampling="5:5:5"))
fails("range", lambda: encoded(scene(), range="x"))
fails("codec", lambda: encoded(scene(), codec="rav1e"))
fails("option", lambda: encoded(scene(), advanced={"foo": "bar"}))
fails("option's value", lambda: encoded(scene(), advanced={"aq-mode": 1}))
fails("size", lambda: encoded(scene(), save_all=True, append_images=[scene(size=(10, 10))]))
fails("no size", lambda: encoded(Image.new("RGB", (0, 4))))
